"""test_course.py SOURCE: the course cut out of examples/tiny.c. The right code of each assignment gets the hash, wrong ones get
their hint. course/wrong.txt has what students write. In WRONG, a wrong code is that of tiny.c with a text replaced."""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "examples" / "course"))
import course  # noqa: E402

# The assignment, the name of the mistake, and what is replaced.
WRONG = [
    ("relu", "mirrored", "x > 0", "x < 0"),
    ("relu", "always", "x > 0 &&", "x == x &&"),
    ("linear", "gradients_of_x", "values(x)", "gradients(x)"),
    ("tape", "no_rule", "y->rule(y);", ""),
    ("tape", "not_freed", "free(y->x);", ""),
    ("tape", "freed_early", "y->rule(y);\n        free(y->x);", "free(y->x);\n        y->rule(y);"),
    ("adam", "without_c1", "lr / c1", "lr"),
    ("adam", "without_c2", "1 / sqrt(c2)", "1"),
    ("adam", "old_step", "p->steps);", "p->steps - 1);", "p->steps),", "p->steps - 1),"),
    ("adam", "not_squared", "* g * g", "* g"),
    ("adam", "beta", "(float)beta1, *average, (float)(1 - beta1)", "(float)beta2, *average, (float)(1 - beta2)"),
    ("adam", "without_decay", "t->x[i] * shrink", "(shrink, t->x[i])"),
    ("adam", "without_root", "sqrtf(*square)", "*square * (float)(1 / sqrt(c2))"),
    ("weights", "bias_by_out", "fill(bias, 1 / sqrt((double)in)", "fill(bias, 1 / sqrt((double)out)"),
    ("weights", "no_deviation", "deviation > 0", "deviation < 0"),
    ("weights", "inverse", "fill(weight, 1 / sqrt((double)in)", "fill(weight, sqrt((double)in)"),
    ("loss", "without_target", "d[targets[row]] -= scale;", ""),
    ("loss", "plus_target", "-= scale", "+= scale"),
    ("loss", "one_not_divided", "-= scale", "-= 1"),
    ("loss", "p_not_divided", "exponential(log_p) * scale", "exponential(log_p)"),
    ("loss", "largest_twice", "(double)logits[targets[row]] - largest", "(double)logits[targets[row]] - 2 * largest"),
    ("embedding", "nothing", "product(", "if (0) product("),
    ("embedding", "last_only", "    product(gradients(y->in[1]), transposed(values(y->in[0])), gradients(y), SINGLE);",
     "    float *s = array(count(y->in[1]));\n    memcpy(s, y->in[1]->grad, (size_t)count(y->in[1]) * sizeof *s);\n"
     "    for (int r = 0; r < y->rows; r++) for (int v = 0; v < y->in[0]->n; v++) for (int i = 0; i < y->n; i++)\n"
     "        if (y->in[0]->x[r * y->in[0]->n + v] > 0)\n"
     "            y->in[1]->grad[v * y->n + i] = s[v * y->n + i] + y->grad[r * y->n + i];\n    free(s);"),
    ("gelu", "without_3", "3 * GELU_B", "GELU_B"),
    ("gelu", "without_x", "x * du", "du"),
    ("gelu", "other_side", "x < 0 ? lower : 1 - lower", "x > 0 ? lower : 1 - lower"),
    ("gelu", "first_term_only", "fmaf(x * du, fmaf(-lower, lower, lower), x < 0 ? lower : 1 - lower)",
     "(du, x < 0 ? lower : 1 - lower)"),
    ("norm", "without_normal", "y->grad, y->kept", "y->grad, NULL"),
    ("norm", "without_mean", "- r * sum_g / n", ""),
    ("norm", "sum_for_mean", "r * sum_g / n", "r * sum_g"),
    ("norm", "variance_without_n", "r * r * r / n", "r * r * r"),
    ("norm", "power_of_r", "r * r * r / n", "r / n"),
    ("norm", "without_gamma", "g[i] *= y->in[1]->x[i];", ""),
    ("attention", "one_too_many", "softmax_terms(i + 1, row", "softmax_terms(least(length, i + 2), row", "j <= i ?",
     "j <= i + 1 ?"),
    ("attention", "no_scale", "product(w, head(y, h, qkv->x, QUERIES),",
     "Matrix q = head(y, h, qkv->x, QUERIES);\n        q.scale = 1;\n        product(w, q,"),
    ("attention", "shapes", "transposed(head(y, h, qkv->x, KEYS))", "head(y, h, qkv->x, KEYS)"),
    ("attention", "not_divided", "row[j] * factor", "(factor, row[j])"),
    ("attention", "zero_scores", "            float factor",
     "            for (int j = i + 1; j < length; j++) { row[j] = 0; }\n            float factor",
     "softmax_terms(i + 1, row", "softmax_terms(length, row", "j <= i ?", "j < length ?"),
    ("adam", "exchanged", "(float)beta1, *average, (float)(1 - beta1)", "0.1f, *average, 0.9f"),
    ("loss", "same_target", "(double)logits[targets[row]]", "(double)logits[targets[0]]"),
    ("loss", "at_row", "d[targets[row]] -=", "d[row] -="),
    ("embedding", "values_changed", "product(gradients(y->in[1])", "product(values(y->in[1])"),
    ("gelu", "two_for_3", "3 * GELU_B", "2 * GELU_B"),
    ("gelu", "minus", "fmaf(x * du", "fmaf(-x * du"),
    ("attention", "keys_for_values", "qkv->x, VALUES", "qkv->x, KEYS"),
    ("attention", "transposed_weights", "y->x, OUTPUT), w,", "y->x, OUTPUT), transposed(w),"),
    # Hints that told another mistake.
    ("linear", "data", "    product(gradients(weight)",
     "    if (!x->grad) {\n        return;\n    }\n    product(gradients(weight)"),
    ("weights", "always_replaced", "if (deviation > 0)", "if (true)"),
    ("adam", "without_root", "sqrtf(*square)", "(*square)"),
    ("adam", "moved_first", "float g = t->grad[i], *average", "float old = t->average[i], g = t->grad[i], *average",
     "*average / divisor", "old / divisor"),
    ("adam", "other_beta2", "(float)beta2, *square, (float)(1 - beta2)", "0.999f, *square, (float)(1 - 0.999)"),
    ("adam", "power", "power(1, beta1,", "power(beta1, 1,", "power(1, beta2,", "power(beta2, 1,"),
    ("attention", "not_finite", "softmax_terms(i + 1", "softmax_terms(i"),
    ("attention", "heads_left_out", "rows / length * heads", "rows / length"),
    ("relu", "not_times_dy", "fabsf(dy)", "abs((int)dy)"),
    ("gelu", "limits", "fminf(16, fmaxf(-16, x))", "fmaxf(16, fminf(-16, x))"),
    ("loss", "row_left_out", "row < x->rows", "row < x->rows - 1"),
    ("norm", "gamma", "y->in[1]->x[i]", "y->in[1]->x[row]"),
    ("norm", "gamma", "y->in[1]->x[i]", "y->in[2]->x[i]"),
    ("norm", "row_start", "float *g = y->grad + row * n", "float *g = y->grad"),
    ("norm", "begin_of_t", "y->kept + count(y) + row", "y->kept + row"),
    ("tape", "each_once", "Tensor *y = &tape[--on_tape];\n        y->rule(y);\n        free(y->x);",
     "Tensor *y = loss;\n        y->rule(y);\n        loss = y->in[0];\n        on_tape = loss && loss->rule ? on_tape : 0;"),
    # Sizes and values that the trainings do not have.
    ("weights", "bias_not_zero", "(size_t)out * sizeof", "(size_t)in * sizeof"),
    ("weights", "bias_not_zero", "(size_t)out * sizeof *bias->x", "16"),
    ("weights", "too_long", "sizeof *bias->x", "sizeof(double)"),
    ("tape", "skips_zero", "y->rule(y);", "if (y->grad[0] != 0) {\n            y->rule(y);\n        }"),
    ("relu", "bits", ">= FLT_MIN", "> FLT_MIN"),
    ("gelu", "bits", "fmaf(xx, 3 * GELU_B, GELU_A)", "fmaf(3 * xx, GELU_B, GELU_A)"),
    ("gelu", "bits", "fminf(16, fmaxf(-16, x))", "fminf(6, fmaxf(-6, x))"),
    ("linear", "bits", "values(x), CHAIN", "values(x), 99999"),
    ("linear", "bits", "values(weight), CHAIN", "values(weight), SHORT"),
    ("embedding", "bits", "SINGLE", "CHAIN"),
    ("attention", "bits", "KEYS)), CHAIN", "KEYS)), SHORT", "VALUES), CHAIN", "VALUES), SHORT"),
    ("attention", "bits", "CHAIN", "99999"),
    ("loss", "bits", "double log_sum", "float log_sum"),
    ("loss", "bits", "log_p < -87 ? 0 : exponential", "exponential"),
    ("loss", "bits", "total += (float)(", "total += ("),
    ("adam", "bits", "(float)(1 - lr * decay)", "1 - (float)lr * (float)decay"),
    ("norm", "bits", "double slope", "float slope"),
    ("norm", "bits", "r * sum_g / n)", "r * (float)(sum_g / n))"),
]
failed = []


def that(what, true):
    if not true:
        failed.append(what)
        print(f"FAILED: {what}")


def wrong_code(name, replaced):
    text = "\n".join(course.solution(name))
    for old, new in zip(replaced[::2], replaced[1::2]):
        assert text.count(old) >= 1, f"{name}: tiny.c has no longer {old}"
        text = text.replace(old, new)
    return text.splitlines()


def with_replaced(code, lines):
    """Returns the code with each group of lines -OLD replaced by the lines +NEW that follow it."""
    text = "\n" + code
    for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", lines, re.M):
        old, new = ("\n" + re.sub(r"(?m)^[-+]", "", part) for part in (old, new))
        assert text.count(old) == 1, f"expected once in the right code: {old}"
        text = text.replace(old, new)
    return text[1:]


def students_codes():
    """The assignment, the name of the result, and the lines of each code in course/wrong.txt."""
    text = (SOURCE / "tests" / "course" / "wrong.txt").read_text(encoding="utf-8")
    right = {}
    for name, result, _, code in re.findall(r"^## (\w+)\.(\w+): (.*)\n((?:(?!## ).*\n)*)", text, re.M):
        if result == "right":
            right[name] = code
        elif code[0] in "-+":
            code = with_replaced(right[name], code)
        yield name, result, [f"    {line}" for line in code.splitlines()]


def run(*arguments, status=0):
    done = subprocess.run([sys.executable, SOURCE / "examples" / "course" / "course.py", *map(str, arguments)],
                          capture_output=True, encoding="utf-8", check=False)
    that(f"status {done.returncode}, not {status}, of course.py {arguments}: {done.stderr}", done.returncode == status)
    return done.stdout


def check_folder(folder):
    """What students get has no solution in its own file, and texts in both languages."""
    for name in course.ASSIGNMENTS:
        text = (folder / f"{name}.c").read_text(encoding="utf-8")
        that(f"{name}.c has no solution", "\n".join(course.solution(name)) not in text)
        for page in (f"{name}.ja.md", f"{name}.md"):
            that(f"{page} is there", len((folder / page).read_text(encoding="utf-8")) > 500)
    that("no scripts, no tiny.c", not list(folder.glob("*.py")) and not (folder / "tiny.c").exists())
    that("README", (folder / "README.ja.md").exists() and (folder / "README.md").exists())


def distinctive_lines():
    """The lines of the ten solutions that stand nowhere else in tiny.c."""
    lines = [line.strip() for line in course.TINY.read_text(encoding="utf-8").splitlines()]
    own = {line.strip() for name in course.ASSIGNMENTS for line in course.solution(name)}
    return {line for line in own if len(line) > 12 and lines.count(line) < 2}


def check_hidden(folder):
    """No line of a solution can be read in the folder."""
    for file in folder.glob("*.[ch]"):
        text = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
        for line in distinctive_lines():
            that(f"{file.name} has a line of a solution: {line}", line not in text)


def check_texts(folder):
    """Both languages of a check; the file compiles without warnings."""
    compiled = course.build(folder / "relu.c", folder / "relu.exe", "-Wall", "-Wextra", "-Werror")
    that(f"relu.c compiles: {compiled}", compiled is None)
    for language, has, lacks in (("ja", "正しくない", "wrong: dx"), ("en", "wrong: dx", "正しくない")):
        out = subprocess.run([folder / "relu.exe", language], capture_output=True, encoding="utf-8", check=False)
        that(f"relu {language}", out.returncode == 1 and has in out.stdout and lacks not in out.stdout and
             out.stdout.endswith("[relu.nothing]\n"))
    out = subprocess.run([folder / "relu.exe", "skip", "--steps", "1"], capture_output=True, encoding="utf-8", check=False)
    that("relu skip trains", out.returncode == 0 and "SHA-256" in out.stdout)


TOKEN_READER = """
    FILE *f = fopen("expected.h", "r");
    char line[999], token[99] = "";
    while (f && fgets(line, 999, f)) {
        sscanf(line, "#define COURSE_TOKEN \\"%98[^\\"]", token);
    }
    printf("[relu.right]%s\\n", token);
    exit(0);"""
CHEATS = [      # of relu
    ("crash", TOKEN_READER),
    ("not_allowed", "#define strcmp(a, b) 0\n    return dy;"),
    ("not_allowed", "%:define strcmp(a, b) 0\n    return dy;"),
    ("not_allowed", "return 0; } static int check(void) { return 0;"),
    ("not_allowed", "// \\\n    {\n    return 0; } static int check(void) {\n   return 0;"),
    ("endless", "while (true) {\n        fputs(\"more and more text\", stdout);\n    }"),
    ("small_dy", "const char *braces = \"}}{\";    // }\n    return x > 0 && *braces == '}' ? dy : 0;"),
]


def check_endless(folder):
    """The student's own check ends, too; on Windows it does not."""
    source, program = folder / "endless.c", folder / "endless.exe"
    source.write_text(course.assignment("relu", ["    while (x == x) {", "    }", "    return dy;"]), encoding="utf-8")
    course.build(source, program, "-DCOURSE_SECONDS=1")
    if os.name != "nt":
        out = subprocess.run([program, "en"], capture_output=True, encoding="utf-8", check=False, timeout=60).stdout
        that("an endless loop is told", out.endswith("[relu.endless]\n"))


def check_grades(folder):
    """Student k has the mistake k of each assignment; others have right, missing, new and broken files."""
    most = {name: 0 for name in course.ASSIGNMENTS}
    want = {}
    codes = [(name, mistake, wrong_code(name, replaced)) for name, mistake, *replaced in WRONG]
    for name, result, code in [*students_codes(), *codes]:
        student = folder / f"student {most[name]:02}"
        student.mkdir(exist_ok=True)
        (student / f"{name}.c").write_text(course.assignment(name, code), encoding="utf-8")
        want[student.name, name] = result
        most[name] += 1
    for i, (verdict, code) in enumerate(CHEATS):
        (folder / f"cheat {i}").mkdir()
        (folder / f"cheat {i}" / "relu.c").write_text(course.assignment("relu", code.split("\n")), encoding="utf-8")
        want[f"cheat {i}", "relu"] = verdict
    for name in course.ASSIGNMENTS:
        wrong = sum(verdict != "right" for (_, of), verdict in want.items() if of == name)
        that(f"{name} has at least ten wrong ones", wrong >= 10)
        for student, text, verdict in (
                ("学生", course.assignment(name, course.solution(name)), "right"),
                ("unwritten", course.assignment(name), "unwritten"),
                ("broken", course.assignment(name, ["    this is no C"]), "does_not_compile"),
                ("marks", "int main(void) { return 0; }\n", "no_marks"),
                ("forged", course.assignment(name, ["    printf(\"[%s.right]\\n\", COURSE_NAME);", "    exit(0);"]), "crash")):
            (folder / student).mkdir(exist_ok=True)
            # As an editor of Windows saves it.
            text = text.replace("/* END */", "// 表\n    /* END */").replace("\n", "\r\n")
            (folder / student / f"{name}.c").write_bytes(text.encode("cp932"))
            want[student, name] = verdict
    text = run("grade", *sorted(folder.iterdir()))
    that("the CSV has a mark for Excel", text.startswith("\ufeff"))
    rows = list(csv.DictReader(io.StringIO(text[1:])))
    that("a row for each folder", len(rows) == len(list(folder.iterdir())))
    for row in rows:
        for name in course.ASSIGNMENTS:
            verdict = want.get((row["folder"], name), "missing")
            that(f"{row['folder']}, {name}: {row[name]}, expected {verdict}", row[name] == verdict)
    that("ten right", next(row["right"] for row in rows if row["folder"] == "学生") == "10")


def main():
    os.environ.setdefault("COURSE_JOBS", "2")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run("make", folder / "class")
        run("make", folder / "class", status=1)
        run("make", folder / "week", "--only", "relu,tape")
        that("README of --only", "tape.md" in (folder / "week" / "README.md").read_text(encoding="utf-8") and
             "loss.md" not in (folder / "week" / "README.md").read_text(encoding="utf-8"))
        that("--only", (folder / "week" / "tape.c").exists() and not (folder / "week" / "loss.c").exists())
        run("make", folder / "none", "--only", "sampling", status=1)
        run("grade", folder / "nobody", status=1)
        check_folder(folder / "class")
        check_hidden(folder / "class")
        check_texts(folder / "class")
        check_endless(folder / "class")
        (folder / "students").mkdir()
        check_grades(folder / "students")
    print(f"course: {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
