"""What the scripts of this folder share: checks that are counted, and programs of the build folder.

Each script NAME.py is run as `python NAME.py BUILD` and ends with finish(), whose line tests/run.sh counts."""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

BUILD = pathlib.Path(sys.argv[1]).resolve()
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
passed = failed = 0


def check(what, good, told=""):
    """Counts a check. What is wrong is printed, with `told` behind it."""
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"{pathlib.Path(sys.argv[0]).name}: {what}{': ' if told else ''}{told}")


def check_close(what, found, expected, tolerance=1e-6):
    """Counts a check that all numbers differ by at most `tolerance` of the largest one, or of 1 if that is more. `found` may be
    a message that tells why there are none."""
    if isinstance(found, str):
        check(what, False, found)
        return
    found, expected = numpy.asarray(found, numpy.float64), numpy.asarray(expected, numpy.float64)
    if found.shape != expected.shape:
        check(what, False, f"{found.shape}, expected {expected.shape}")
        return
    differs = numpy.abs(found - expected) / max(1, numpy.abs(expected).max(initial=0))
    check(what, bool((differs <= tolerance).all()), f"differs by {differs.max(initial=0):.3g}, expected {tolerance:g} at most")


def check_refused(what, found, words):
    """Counts a check that `found` is a message with these words."""
    check(what, isinstance(found, str) and words in found,
          f"expected a message with {words!r}, found {found if isinstance(found, str) else 'numbers'!r}")


def run(program, *arguments):
    """Runs a program of the build folder; returns what it prints. An error ends the script."""
    done = subprocess.run([BUILD / program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program} {' '.join(map(str, arguments))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def value_or_error(function, *arguments):
    """The function's value, or the message of its error: the libraries raise errors of many kinds."""
    try:
        return function(*arguments)
    except Exception as error:
        return repr(error)


def enter_folder():
    """Makes a temporary folder the current one. It is removed at the end of the script."""
    folder = tempfile.mkdtemp(prefix="kaeru-libraries-")
    atexit.register(shutil.rmtree, folder)
    os.chdir(folder)


def finish():
    """Prints the counts and ends the script."""
    name = pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
    print(f"{name}: {passed} passed, {failed} failed")
    raise SystemExit(failed > 0)
