"""Words that users did not understand stay away: no message of the tool or of the commands in GDB has them."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GONE = [
    "takes no further words", "too many words\"", "there is no event \\\"", "may read the counters", "may not read the counters",
    "never reads them", '", was "', "switched on for the time", "is borrowed", "not put back", "could not be put back", "Two ways on",
    "not ours", "what was changed on the target", "a reset of the target clears", "had been sent", "OpenOCD ended", "board/....cfg",
    "too late to tell whether", "left out, the highest", "within %s of each other", "each look halts", "what that adds is in the counts",
    "halted for the moment", "by resuming onto a breakpoint", "re-hits  ", "is not set", "what there is", "its registers refuse to be read",
    "waiting for the end", "for the time\"", "prints so often", "hits tainted,", "each of the windows", "did not come to its end",
    "for moments",
]


def texts(path):
    """Literals, adjacent ones as one; comments do not count."""
    text = path.read_text()
    if path.suffix == ".py":
        return re.sub(r"#.*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return "\n".join(f'"{literal}"' for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def test_no_message_says_it_in_the_old_words():
    files = [path for folder in ("probe", "gdb-scripts") for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h", ".py")]
    assert len(files) > 200
    found = [f"{path.relative_to(ROOT)}: {words}" for path in files for text in [texts(path).lower()] for words in GONE
             if words.lower() in text]
    assert not found, "\n".join(found)
