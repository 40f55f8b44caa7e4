addTexts({
    tokens_short: ['Tokens and embedding', 'トークンと埋め込み'],
    tokens_title: ['A text becomes numbers', '文章を数にする'],
    tokens_intro: [
        'A text is cut into tokens, and each different token has a number, its id. At first each byte is a token. Then ' +
            'the pair of neighbors that is most frequent in 1,000 small sentences about animals, half of them Japanese, ' +
            'becomes one token, again and again: these are byte pairs (BPE). The id takes a row of the embedding table: ' +
            'that vector is all that the network sees of the token.',
        '文章はトークンに切り分けます。異なるトークンには、それぞれ番号（ID）がつきます。初めは1バイトが1トークンです。' +
            '動物についての短い文1,000個（半分は日本語）の中で最も多い隣どうしの組を、ひとつのトークンにします。これを' +
            '繰り返すのがバイト対符号化（BPE）です。IDは、埋め込み表の1行を取り出します。ネットワークがトークンについて' +
            '見るのは、このベクトルだけです。',
    ],
    tokens_sentence: ['Your sentence', '自分の文'],
    tokens_example: ['The bear eats honey, and the zebra eats pizza.', '熊は蜂蜜を食べます。きりんは葉を食べます。'],
    tokens_merges: ['Pairs that were learned', '学習した組の数'],
    tokens_list: ['Tokens with their ids', 'トークンとそのID'],
    tokens_more: ['… and {n} more', '… ほか{n}個'],
    tokens_state: ['{letters} characters, {tokens} tokens.', '{letters}文字、{tokens}トークン。'],
    tokens_same: ['The ids give the same sentence again.', 'IDから、同じ文に戻ります。'],
    tokens_newest: ['Pair {n} made the token “{token}”.', '{n}番目の組から「{token}」というトークンができました。'],
    tokens_bytes: ['Each byte is a token.', '1バイトが1トークンです。'],
    tokens_rows: ['The rows of the embedding table, before training', '埋め込み表の行（学習前）'],
    tokens_token: ['token', 'トークン'],
    tokens_id: ['id', 'ID'],
    tokens_row: ['its row (4 numbers, 768 in GPT-2)', 'その行（4個の数、GPT-2では768個）'],
    tokens_ask: [
        '<b>Which words become one token, and what becomes of a word that the small text does not have?</b> Predict, then ' +
            'move the number of pairs, and write a word of your own.',
        '<b>ひとつのトークンになるのは、どんな単語でしょう。もとの文章にない単語は、どうなるでしょう。</b> 予想してから、' +
            '組の数を動かし、自分の単語も書いてください。',
    ],
    tokens_answer: [
        'Frequent words become one token early, with the space before them. A word that is not in the text stays in ' +
            'pieces, in the worst case in bytes; an emoji is four bytes. So any text has ids, and they give the text ' +
            'back. The same token always takes the same row. The rows begin with random numbers; training changes them.',
        'よく出る単語ほど、早くひとつのトークンになります（英語では前の空白も含みます）。もとの文章にない単語は断片のまま' +
            'で、最悪の場合はバイトのままです。絵文字は4バイトです。だからどんな文章にもIDがあり、IDから文章に戻せます。' +
            '同じトークンは、いつも同じ行を取り出します。行の数は初めは乱数で、学習によって変わります。',
    ],
});
