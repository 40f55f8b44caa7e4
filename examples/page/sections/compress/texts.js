addTexts({
    compress_short: ['What a loss is worth', '損失の値打ち'],
    compress_title: ['A loss is the size of a file', '損失は、ファイルの大きさ'],
    compress_intro: [
        'A letter of probability p costs −log<sub>2</sub> p bits, so a text that a network predicts well needs few. The ' +
            'native program has compressed a text by a small Transformer that learns while it reads. This page has only ' +
            'those bits: neither the text nor any weights. It begins with the same random weights, decodes 16 bytes, ' +
            'learns from them, and decodes the next 16. If one bit of one probability differed, all that follows would ' +
            'be garbage.',
        '確率pの文字には −log<sub>2</sub> p ビットかかります。だから、うまく予測できるテキストは、少ないビットで書けま' +
            'す。ネイティブのプログラムが、読みながら学ぶ小さなTransformerで、あるテキストを圧縮しました。このページにあ' +
            'るのはそのビットだけで、テキストも重みもありません。同じ乱数の重みから始め、16バイトを復号し、それから学び、' +
            '次の16バイトを復号します。確率が1ビットでも違えば、その後はすべて意味のないものになります。',
    ],
    compress_run: ['Decompress', '展開する'],
    compress_file: ['Or a file that <code>compress</code> has made', 'または <code>compress</code> が作ったファイル'],
    compress_start: ['{packed} bytes, not decompressed yet.', '{packed}バイト、未展開。'],
    compress_state: ['{done} of {count} bytes so far.', '{count}バイトのうち{done}バイトまで。'],
    compress_ended: [
        '{count} bytes from {packed}: {bits} bits a byte. The text has the hash that the native program has given it.',
        '{packed}バイトから{count}バイト：1バイトあたり{bits}ビット。テキストのハッシュは、ネイティブのプログラムがつけた' +
            'ものと一致します。',
    ],
    compress_error: [
        'The file cannot be decompressed here: it {error}.',
        'このファイルはここでは展開できません（詳細は英語）：it {error}',
    ],
    compress_large: [
        'The file cannot be decompressed here: it has more than {n} bytes.',
        'このファイルはここでは展開できません：{n}バイトより大きいからです。',
    ],
    compress_hint: [
        'Point at a letter, touch it, or use the arrow keys.', '文字を指すか、触れるか、矢印キーで選びます。',
    ],
    compress_label: ['{n} letters, the darker the more bits they cost', '{n}文字。ビットが多いほど濃い色'],
    compress_letter: [
        '{letter} costs {bits} bits: its probability is 1/{chance}.', '{letter}：{bits}ビット。確率は1/{chance}です。',
    ],
    compress_scale: ['Bits of a letter:', '1文字のビット数：'],
    compress_own: ['Your own sentence', '自分の文'],
    compress_own_intro: [
        'The Transformer that was trained here has read nothing but that text. Now it predicts your sentence, without ' +
            'learning more.',
        'ここで学習したTransformerが読んだのは、あのテキストだけです。今度は、それ以上は学習せずに、入力した文を予測し' +
            'ます。',
    ],
    compress_sentence: ['A sentence', '文'],
    compress_example: [
        'A good model needs fewer bits for the next letter.', 'よいモデルほど、次の文字に使うビットは少なくなります。',
    ],
    compress_before: ['as it is', 'そのまま'],
    compress_deflated: ['by the method of gzip', 'gzipの方法'],
    compress_untrained: ['by the Transformer before it learned', '学習前のTransformer'],
    compress_trained: ['by the Transformer that was trained here', 'ここで学習したTransformer'],
    compress_bytes: ['{n} bytes', '{n}バイト'],
    compress_not_yet: ['decompress the text first', '先にテキストを展開'],
    compress_back: [
        '✓ Decompressed again, byte by byte, it is the same sentence.',
        '✓ 1バイトずつ展開すると、同じ文に戻りました。',
    ],
    compress_ask: [
        '<b>Which letters of a word take many bits, and where in the text?</b> Predict, then look at the colors.',
        '<b>ビットを多く使うのは、単語のどの文字でしょう。テキストではどこでしょう。</b> 予想してから、色を見てください。',
    ],
    compress_answer: [
        'The first letters of a word, where it is open which word comes; its last letters are nearly free. The text ' +
            'is expensive at its beginning and where Japanese begins: there the network has learned nothing yet. ' +
            'About half of what a Japanese letter of three bytes costs is its last byte.',
        '単語の初めの文字です。どの単語が来るかが、まだ決まっていないからです。終わりの文字にはコストがほとんどかかり' +
            'ません。テキストでは、初めと、日本語に変わるところでコストが高くなります。ネットワークがまだ何も学んでい' +
            'ないからです。3バイトからなる日本語の文字では、コストのおよそ半分が最後のバイトのものです。',
    ],
});
