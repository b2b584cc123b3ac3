"""Words that plain English does without, counted in comments, in messages (the strings of the tool) and in pages. Each count has a
bound in MOST, so that it can only shrink. `python3 tests/plain_words.py` prints the table, and with a word where that word is."""
import io
import os
import re
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ("probe", "target-stub", "gdb-scripts", "contrib", "make", "openocd-cfg", "tests", "docs")
KINDS = ("comments", "messages", "pages")

# Each word, and what finds it
WORDS = {
    "behind": r"behind",
    "beside": r"beside",
    "come": r"comes?|came|coming",
    "is no": r"(?<!there )(?:is|are|was|were) no(?! (?:longer|more|less|farther)\b)",
    "look": r"look(?:s|ed|ing)?(?! up\b)",
    "no such": r"no such",
    "of its own": r"of (?:its|their|his) own",
    "said": r"said",
    "so many": r"so many",
    "somebody": r"somebody",
    "stands": r"(?:stands?|stood|standing)(?! for\b)",
    "take away": r"(?:take|takes|took|taken|taking)(?: \w+)? away",
    "tells": r"tells?|telling",
    "told": r"told",
    "whoever": r"whoever",
}
FINDS = {word: re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I) for word, pattern in WORDS.items()}

# The most that each may be: comments, messages, pages. Make a number smaller when the count is; make none larger.
MOST = {
    "behind": (1, 0, 0),
    "beside": (0, 1, 0),
    "come": (5, 0, 0),
    "is no": (1, 0, 0),
    "look": (40, 6, 7),
    "no such": (2, 0, 0),
    "of its own": (3, 0, 0),
    "said": (4, 1, 0),
    "so many": (0, 0, 0),
    "somebody": (0, 0, 0),
    "stands": (1, 2, 0),
    "take away": (0, 0, 0),
    "tells": (2, 0, 0),
    "told": (2, 0, 0),
    "whoever": (1, 0, 0),
}

C_PARTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASH_PARTS = re.compile(r'"(?:\\.|[^"\\\n])*"|(?<![\w$"\'{(])#[^\n]*')


def c_parts(text):
    """Pairs: where it begins, and a comment or a string with its quotes."""
    for part in C_PARTS.finditer(text):
        if part[0][0] != "'":
            yield part.start(), part[0]


def python_parts(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    at_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start = starts[token.start[0] - 1] + token.start[1]
        if token.type == tokenize.STRING and at_statement:
            yield start, "#" + token.string[1:]  # a docstring is a comment
        elif token.type in (tokenize.COMMENT, tokenize.STRING):
            yield start, token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def hash_parts(text):
    for part in HASH_PARTS.finditer(text):
        yield part.start(), part[0]


def page_parts(text):
    """The page without its code, which shows what the tool prints."""
    yield 0, re.sub(r"^ *```.*?^ *```|`[^`\n]+`", lambda code: re.sub(r"[^\n]", "`", code[0]), text, flags=re.M | re.S)


PARTS = {".c": c_parts, ".h": c_parts, ".cpp": c_parts, ".S": c_parts, ".ld": c_parts, ".py": python_parts, ".md": page_parts,
         ".mk": hash_parts, ".cfg": hash_parts, ".tcl": hash_parts, ".cmake": hash_parts, ".sh": hash_parts, ".gdb": hash_parts}


def files(root):
    yield from sorted(name for name in os.listdir(root) if name.endswith(".md"))
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            if os.path.relpath(folder, root).startswith(os.path.join("tests", "golden")):
                continue  # what the tool printed
            yield from sorted(os.path.relpath(os.path.join(folder, name), root) for name in names
                              if os.path.splitext(name)[1] in PARTS and name != os.path.basename(__file__))


def found(root=ROOT):
    """Each word that is found: the word, its kind, its file, its line and the text around it."""
    for name in files(root):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for start, part in PARTS[os.path.splitext(name)[1]](text):
            kind = "pages" if name.endswith(".md") else "comments" if part[0] in "/#" else "messages"
            if kind == "messages" and name.startswith("tests"):
                continue  # what the tests expect are the messages of the tool, counted there
            for word, pattern in FINDS.items():
                for hit in pattern.finditer(part):
                    yield word, kind, name, text.count("\n", 0, start + hit.start()) + 1, part[max(0, hit.start() - 60):hit.end() + 60]


def counts(root=ROOT):
    """By word, how often in each kind."""
    table = {word: dict.fromkeys(KINDS, 0) for word in WORDS}
    for word, kind, *_ in found(root):
        table[word][kind] += 1
    return table


def too_many(table, most):
    """A line for each count above its bound."""
    return [f"{word}: {table[word][kind]} in {kind}, {bound} at most" for word in WORDS for kind, bound in zip(KINDS, most[word])
            if table[word][kind] > bound]


def main(words):
    if words:
        for word, kind, name, line, around in found():
            if word in words:
                print(f"{name}:{line}: {kind}: {' '.join(around.split())}")
        return
    table = counts()
    print(f"{'word':12}" + "".join(f"{kind:>10}" for kind in KINDS))
    for word, row in table.items():
        print(f"{word:12}" + "".join(f"{row[kind]:10}" for kind in KINDS))
    print(f"{'all':12}" + "".join(f"{sum(row[kind] for row in table.values()):10}" for kind in KINDS))


if __name__ == "__main__":
    main(sys.argv[1:])
