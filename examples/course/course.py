"""course.py: a course cut out of examples/tiny.c.

    course.py make FOLDER [--only NAME,NAME]     the folder for a class, which must not exist yet
    course.py grade FOLDER...                    CSV on standard output: a row for each student's folder
    course.py solution NAME FILE                 prints the assignment NAME with the code in FILE, for tests; -: that of tiny.c

An assignment is tiny.c without the body of one function. CC is the compiler (default: cc, gcc or clang),
COURSE_JOBS the number of programs that grade runs at a time (default: that of processors)."""
import csv
import os
import random
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TINY = HERE.parent / "tiny.c"
BEGIN, END = "    /* BEGIN: your code */", "    /* END */"
SECONDS, MOST_BYTES = 60, 1 << 20           # of a student's program and of its output
TOKEN = r"[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|->|\+\+|--|&&|\|\||[-+*/%<>=!&|]=|\S"

# Name: function of tiny.c, lines that stay at its begin and at its end, what stands in the hole, the training of the hash.
ASSIGNMENTS = {
    "relu": ("relu_gradient", 0, 0, ["(void)x;", "(void)dy;", "return 0;"], "skip"),
    "linear": ("linear_rule", 0, 0, ["(void)y;"], "skip"),
    "tape": ("backward", 0, 0, ["(void)loss;"], "skip"),
    "adam": ("adam", 0, 0, ["(void)p, (void)lr, (void)beta2, (void)decay, (void)power;"], "skip"),
    "weights": ("linear_new", 1, 1, ["(void)deviation;"], "skip"),
    "loss": ("cross_entropy", 1, 1, ["(void)targets, (void)log_double;"], "gpt"),
    "embedding": ("embedding_rule", 0, 0, ["(void)y;"], "gpt"),
    "gelu": ("gelu_gradient", 0, 0, ["(void)x;", "(void)dy;", "return 0;"], "gpt"),
    "norm": ("layer_norm_rule", 0, 0, ["(void)y;"], "gpt"),
    "attention": ("attention", 4, 1, [], "gpt"),
}
TRAININGS = {
    "skip": "skip --rows 100 --hidden 17 --steps 5 --seed 3",
    "gpt": "gpt --layers 1 --heads 2 --width 16 --context 10 --batch 7 --steps 5 --seed 3",
}


def fail(message):
    sys.exit(f"course.py: {message}")


def find(lines, function):
    """Returns the index of a function's first line, and the lines of its body."""
    for i, line in enumerate(lines):
        if re.match(rf"static [\w *]*\b{function}\(.*\)$", line) and lines[i + 1] == "{":
            end = lines.index("}", i)
            return i, end, lines[i + 2:end]
        short = re.match(rf"(static [\w *]*\b{function}\(.*\)) {{ (.*) }}$", line)
        if short:
            return i, i, ["    " + short[2]]
    fail(f"examples/tiny.c has no function {function}")


def macros():
    """Returns the macro that stands for each token of the bodies of all assignments, in an order that tells nothing."""
    tiny = TINY.read_text(encoding="utf-8").splitlines()
    bodies = [without_comments(find(tiny, function)[2]) for function, *_ in ASSIGNMENTS.values()]
    tokens = sorted(set(re.findall(TOKEN, "\n".join(bodies))))
    random.Random(1).shuffle(tokens)
    return {token: f"course_{i}" for i, token in enumerate(tokens)}


def hide(lines, name):
    """Writes the bodies of the other assignments in macros, one for each token, so that nobody reads a solution by chance."""
    macro = macros()
    for other, (function, *_) in ASSIGNMENTS.items():
        begin, end, body = find(lines, function)
        if other != name:
            hidden = " ".join(macro[token] for token in re.findall(TOKEN, without_comments(body)))
            lines[begin:end + 1] = [lines[begin].split(" { ")[0], "{   /* an assignment: its text is in macros */",
                                    *textwrap.wrap(hidden, 96, initial_indent="    ", subsequent_indent="    "), "}"]


def copy(lines, name):
    """Makes a part of an assignment of tiny.c, which may have a hole: what course.h and check.h must see of its calls."""
    begin, _, _ = find(lines, "product")
    lines.insert(begin + 2, "    course_shapes(c.rows, c.columns, a.rows, a.columns, b.rows, b.columns);")
    _, end, _ = find(lines, "parameter_new")
    lines.insert(end - 1, "    course_parameter(x + rows * n, 3 * rows * n);")
    _, end, _ = find(lines, "print_hash")
    lines[end:end] = ["    for (const Tensor *t = p->item; t < p->item + p->n; t++) {",
                      "        course_add(t->average, (size_t)count(t) * sizeof *t->average);",
                      "        course_add(t->square, (size_t)count(t) * sizeof *t->square);",
                      "    }",
                      '    printf("Adam\'s averages: %08x%08x\\n", (unsigned)(course_bits >> 32), (unsigned)course_bits);']
    main = lines.index("int main(int argc, char **argv)")
    lines[main] = "static int tiny(int argc, char **argv)"
    lines.insert(lines.index("}", main), "    return 0;")
    includes = max(i for i, line in enumerate(lines) if line.startswith("#include"))
    defines = f'#define COURSE_NAME "{name}"\n#define COURSE_CHECK check_{name}\n#define COURSE_{name}'
    lines.insert(includes + 1, f'\n{defines}\n#include "course.h"\n#include "tokens.h"')


def assignment(name, code=None):
    """Returns the text of an assignment, with this code in its hole; None: what students begin with."""
    function, head, tail, start, training = ASSIGNMENTS[name]
    lines = TINY.read_text(encoding="utf-8").splitlines()
    hide(lines, name)
    begin, end, body = find(lines, function)
    signature = lines[begin].split(" { ")[0]
    hole = [f"    {line}" for line in start] if code is None else code
    lines[begin:end + 1] = [signature, "{", *body[:head], BEGIN, *hole, END, *body[len(body) - tail:], "}"]
    copy(lines, name)
    return "\n".join([
        f"/* {name}.c: an assignment: write {function}(), between BEGIN and END. {name}.ja.md and {name}.md have the text.",
        " *",
        f" *     cc -O2 {name}.c -o {name} -lm && ./{name}        checks it",
        f" *     ./{name} {training}" + " " * (36 - len(training)) + "trains with it",
        " *",
        " * Everything else is the file tiny.c of kaeru. The functions of other assignments are in macros (tokens.h). */",
        *lines, "", '#include "check.h"', ""])


def solution(name):
    function, head, tail, _, _ = ASSIGNMENTS[name]
    body = find(TINY.read_text(encoding="utf-8").splitlines(), function)[2]
    return body[head:len(body) - tail]


def compiler():
    found = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), "cc")
    return shlex.split(os.environ.get("CC", found))


def build(source, program, *flags):
    """Compiles; returns the compiler's messages, or None."""
    fma = ["-mfma"] if os.name == "nt" else []
    done = subprocess.run([*compiler(), *flags, *fma, str(source), "-o", str(program), "-lm"], capture_output=True,
                          text=True, errors="replace", check=False)
    return None if done.returncode == 0 else done.stderr


def write_common(folder, token=""):
    """Writes what every assignment includes. The hashes are those of the whole tiny.c. The check prints the token after
    `right`: a student's code, which stands above it, does not know that of the grader."""
    for name in ("course.h", "check.h", "bits.h"):
        shutil.copyfile(HERE / name, folder / name)
    defines = "".join(f"#define {macro} {token}\n" for token, macro in macros().items())
    (folder / "tokens.h").write_text("/* tokens.h: the tokens of functions that are assignments. */\n" + defines,
                                     encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        source, program = Path(temporary) / "tiny.c", Path(temporary) / "tiny.exe"
        lines = TINY.read_text(encoding="utf-8").splitlines()
        copy(lines, "tiny")
        bits = "".join(f'bits_of("{name}"); ' for name in ASSIGNMENTS)
        lines += ["", '#include "bits.h"', "int main(int argc, char **argv) {",
                  f"    if (argc > 1) return tiny(argc, argv); {bits}", "}", ""]
        source.write_text("\n".join(lines), encoding="utf-8")
        errors = build(source, program, "-O1", "-I", str(HERE), "-I", str(folder))
        if errors:
            fail(f"tiny.c does not compile: {errors}")
        text = f'/* expected.h: the hashes of tiny.c. */\n#define COURSE_TOKEN "{token}"\n'
        for name, options in TRAININGS.items():
            run = subprocess.run([program, *options.split()], capture_output=True, text=True, check=True)
            hashes = "".join(f'\\\n    "{line}\\n"' for line in run.stdout.splitlines()
                             if line.startswith(("SHA-256", "Adam")))
            words = ", ".join(f'"{word}"' for word in ["tiny", *options.split()])
            text += f"#define EXPECTED_{name.upper()} {hashes}\n#define OPTIONS_{name.upper()} {words}, NULL\n"
        bits = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        text += f"static const ExpectedBits expected_bits[] = {{\n{bits}    {{ NULL, 0 }},\n}};\n"
    (folder / "expected.h").write_text(text, encoding="utf-8")


def make(folder, names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.c").write_bytes(assignment(name).encode())
        for text in (f"{name}.ja.md", f"{name}.md"):
            shutil.copyfile(HERE / text, folder / text)
    for text, lecturers in (("README.ja.md", "\n## 教える人へ"), ("README.md", "\n## For lecturers")):
        students, _, rest = (HERE / text).read_text(encoding="utf-8").partition(lecturers)
        assert rest, f"{text} has no section for lecturers"
        for name in set(ASSIGNMENTS) - set(names):
            students = re.sub(rf"(?m)^\|.*\]\({name}\..*\n", "", students)
        (folder / text).write_bytes(students.encode())
    write_common(folder)


def hole_of(file):
    """Returns the student's lines, or None if the marks are not there once each, in order."""
    data = file.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = data.decode("cp932", errors="replace").splitlines()     # a Japanese editor on Windows
    marks = [[i for i, line in enumerate(lines) if line.strip() == mark.strip()] for mark in (BEGIN, END)]
    if len(marks[0]) != 1 or len(marks[1]) != 1 or marks[0] > marks[1]:
        return None
    return lines[marks[0][0] + 1:marks[1][0]]


def without_comments(hole):
    """The text that decides whether two students wrote the same."""
    text = re.sub(r'("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')|/\*.*?\*/|//[^\n]*', lambda m: m[1] or " ",
                  "\n".join(hole), flags=re.S)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def leaves_its_place(hole):
    """Whether the code has a preprocessor line, or ends the function that it stands in."""
    text = without_comments(re.sub(r"\\\n", "", "\n".join(hole)).split("\n"))
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', "0", text)
    depth = [0]
    for brace in re.findall(r"[{}]", text.replace("<%", "{").replace("%>", "}")):
        depth.append(depth[-1] + (1 if brace == "{" else -1))
    return "#" in text or "%:" in text or "_Pragma" in text or min(depth) < 0


def run_limited(program, folder):
    """Returns the status and the output of a program; None: it ran or printed without end, and was killed."""
    with subprocess.Popen([program, "en"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          cwd=folder) as process:
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        output = process.stdout.read(MOST_BYTES)
        endless = len(output) == MOST_BYTES or timer.finished.is_set()
        if endless:
            process.kill()
        status = process.wait()
        timer.cancel()
    return None if endless else (status, output)


def grade_one(name, program, token):
    """Runs a program and returns right, or the name of the mistake without that of the assignment."""
    run = run_limited(program, program.parent)
    program.unlink()
    if not run:
        return "endless"
    status, output = run
    if status == 0 and output.rstrip().endswith(f"[{name}.right]{token}".encode()):
        return "right"
    mistake = re.search(rb"\[%s\.(\w+)\]\s*$" % name.encode(), output)
    return mistake[1].decode() if mistake and mistake[1] != b"right" else "crash"


def grade_all(tasks):
    """Returns the result of each of the (name, hole). All are compiled first: no program runs where the hashes can be read."""
    token = secrets.token_hex(8)
    jobs = int(os.environ.get("COURSE_JOBS", os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as programs, ThreadPoolExecutor(jobs) as pool:
        with tempfile.TemporaryDirectory() as sources:
            write_common(Path(sources), token)

            def compiled(number):
                name, hole = tasks[number]
                source, program = Path(sources) / f"{number}.c", Path(programs) / f"{number}.exe"
                source.write_text(assignment(name, hole), encoding="utf-8")
                return None if build(source, program, "-O0") else program

            done = list(pool.map(compiled, range(len(tasks))))
        return list(pool.map(lambda task, program: grade_one(task[0], program, token) if program else "does_not_compile",
                             tasks, done))


def grade(folders):
    for folder in folders:
        if not folder.is_dir():
            fail(f"{folder}: expected a student's folder")
    verdict, tasks, cells = {}, [], {}
    for folder in folders:
        for name in ASSIGNMENTS:
            file = folder / f"{name}.c"
            hole = hole_of(file) if file.is_file() else None
            if not file.is_file():
                cells[folder, name] = "missing"
            elif hole is None:
                cells[folder, name] = "no_marks"
            elif without_comments(hole) == "\n".join(ASSIGNMENTS[name][3]):
                cells[folder, name] = "unwritten"
            elif leaves_its_place(hole):
                cells[folder, name] = "not_allowed"
            else:
                key = (name, without_comments(hole))
                cells[folder, name] = key
                if key not in verdict:
                    verdict[key] = None
                    tasks.append((name, hole))
    verdict = dict(zip(verdict, grade_all(tasks)))
    sys.stdout.write("\ufeff")              # Excel reads UTF-8 only with this mark
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["folder", *ASSIGNMENTS, "right"])
    for folder in folders:
        row = [verdict.get(cells[folder, name], cells[folder, name]) for name in ASSIGNMENTS]
        out.writerow([folder.name, *row, row.count("right")])


def main(arguments):
    if arguments[:1] == ["make"] and len(arguments) in (2, 4):
        names = list(ASSIGNMENTS)
        if len(arguments) == 4:
            names = arguments[3].split(",")
            if arguments[2] != "--only" or not set(names) <= set(ASSIGNMENTS):
                fail(f"expected --only and names of {', '.join(ASSIGNMENTS)}")
        if Path(arguments[1]).exists():
            fail(f"{arguments[1]} exists already")
        make(Path(arguments[1]), names)
    elif arguments[:1] == ["grade"] and len(arguments) > 1:
        grade([Path(folder) for folder in arguments[1:]])
    elif arguments[:1] == ["solution"] and len(arguments) == 3 and arguments[1] in ASSIGNMENTS:
        code = solution(arguments[1]) if arguments[2] == "-" else Path(arguments[2]).read_text(encoding="utf-8").splitlines()
        print(assignment(arguments[1], code), end="")
    elif arguments[:1] == ["names"]:
        print("\n".join(ASSIGNMENTS))
    else:
        print(__doc__)
        sys.exit(0 if arguments[:1] == ["--help"] else 2)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main(sys.argv[1:])
