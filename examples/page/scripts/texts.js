// Every text of the page: [English, Japanese]. {name} is replaced by a number or a word; <b>, <i> and <code> are allowed.
// The texts of a section are in its folder.

const texts = {
    title: ['kaeru: gradients, one step at a time', 'kaeru：勾配を一歩ずつ'],
    skip_link: ['Skip to the first section', '最初の節へ移動'],
    heading: ['How a network finds out what to change', 'ネットワークは、何を変えればよいかをどう知るのか'],
    nav_label: ['Sections', '目次'],
    failure: [
        'The engine could not start. A browser from 2023 or later is needed.',
        'エンジンを起動できませんでした。2023年以降のブラウザが必要です。',
    ],
    footer: [
        'kaeru is C11 and needs only libc, libm and pthreads. The programs behind these figures are in its folder ' +
            '<code>examples</code>; their lessons are in <code>examples/README.md</code>.',
        'kaeruはC11で書かれ、libc、libm、pthreadsだけを使います。図のもとになったプログラムは <code>examples</code> フォ' +
            'ルダに、そのレッスンは <code>examples/README.ja.md</code> にあります。',
    ],
    back: ['One step back', '一歩戻る'],
    forward: ['One step forward', '一歩進む'],
    step_slider: ['Step', 'ステップ'],
    train: ['Train', '学習する'],
    pause: ['Pause', '一時停止'],
    go_on: ['Go on', '続ける'],
    done: ['Done', '完了'],
    again: ['Start again', '最初から'],
    one_step: ['One step', '1ステップ'],
    axis_loss: ['loss', '損失'],
    hash: ['SHA-256 of the trained weights: {hash}.', '学習した重みのSHA-256：{hash}。'],
    hash_equal: ['The native program prints the same.', 'ネイティブのプログラムの出力と一致します。'],
    hash_differs: ['The native program printed another one!', 'ネイティブのプログラムの出力と一致しません！'],
    lead: [
        'kaeru is a small deep-learning library in C. It runs inside this page: the numbers in the figures are computed ' +
            'by it while you watch, with the same bits as in a program on your machine.',
        'kaeruはCで書かれた小さな深層学習ライブラリです。このページの中でそのまま動いています。図の中の数は、このライブ' +
            'ラリがその場で計算します。手元のプログラムと1ビットも違いません。',
    ],
    keys: [
        'All of it works with the keyboard: Tab goes from control to control; ← and → step through the figure in view. ' +
            'The address of this page holds all that you set, so a link shows the same to others.',
        'キーボードだけで操作できます。Tabで次の操作部品へ、← → で画面に見えている図を一歩ずつ進めます。設定はすべてこの' +
            'ページのアドレスに入るので、リンクを渡せば、ほかの人にも同じものが見えます。',
    ],
    section_lesson: ['Lesson {n}: {title}.', 'レッスン{n}：{title}。'],
    lecture: ['Lecture mode', '講義モード'],
    lecture_label: ['Lecture mode', '講義モード'],
    lecture_answer: ['Answer (A)', '答え（A）'],
    lecture_settings: ['Controls (C)', '設定（C）'],
    lecture_off: ['Leave (Esc)', '終了（Esc）'],
    lecture_keys: [
        'Lecture mode fills the screen with one figure and its question. ← and → step through the figure, and then go on ' +
            'to the next one. PageUp and PageDown, the keys of a remote control, turn to the next figure at once. A shows ' +
            'the answer, and then the rest of a long one; C shows the controls; the space bar presses the blue button. ' +
            'A text field or a slider keeps such keys until you press Esc. The lecture begins at the section that you ' +
            'saw last.',
        '講義モードでは、問いと図がひとつずつ、画面いっぱいに表示されます。← → で図を一歩ずつ進め、端まで行くと次の図へ移' +
            'ります。PageUpとPageDown（リモコンのキー）は、すぐに次の図へ移ります。Aで答え（長い答えは続きも）、Cで設定を表示' +
            'し、スペースキーで青いボタンを押します。入力欄やスライダーを操作しているときは、先にEscを押してください。講義' +
            'は、最後に見ていた節から始まります。',
    ],
    save_figure: ['Save figure:', '図を保存：'],
    save_svg: ['SVG', 'SVG'],
    save_png: ['PNG', 'PNG'],
    copy_link: ['Copy link', 'リンクをコピー'],
    link_copied: ['Copied: the link holds what you see.', 'コピーしました。リンクを開くと、いまの表示が再現されます。'],
    link_in_bar: ['The link is in the address bar.', 'リンクはアドレス欄にあります。'],
    speed: ['Speed', '速さ'],
    speed_2: ['2 steps a second', '毎秒2ステップ'],
    speed_10: ['10 steps a second', '毎秒10ステップ'],
    speed_50: ['50 steps a second', '毎秒50ステップ'],
    speed_full: ['as fast as it can', '最高速'],
    history: ['History: the step that is shown', '履歴：表示するステップ'],
    seed: ['Seed', '乱数のシード'],
    training_state: [
        'Step {step} had the loss {loss}. {seconds} s of computing so far.',
        'ステップ{step}の損失は{loss}。これまでの計算時間{seconds}秒。',
    ],
    point_at: ['Point at a cell, touch it, or use the arrow keys.', 'マスを指すか、触れるか、矢印キーで選びます。'],
    optimizer: ['Optimizer', '最適化手法'],
    optimizer_momentum: ['SGD, momentum 0.9', 'SGD、モーメンタム0.9'],
    rate: ['Learning rate', '学習率'],
    numbers_text: ['{what}: {numbers}.', '{what}：{numbers}。'],
    axis_step: ['step', 'ステップ'],
};
