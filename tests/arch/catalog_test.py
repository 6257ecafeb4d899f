"""Two lists that must tell the truth: the reason codes, and the public bugs with their tests."""
import re
import unittest

import sources

REASONS = "common/base/reasons.def"
BUGS = "tests/BUGS.md"


def reasons():
    """(camel, upper, code, meaning, advice) of every entry."""
    entry = re.compile(r'^NAVE_REASON\((\w+), (\w+), (k\w+), "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\)$', re.M)
    return entry.findall(sources.text(REASONS))


class Reasons(unittest.TestCase):
    maxDiff = None

    def test_every_line_is_an_entry(self):
        lines = [line for line in sources.text(REASONS).splitlines() if line and not line.startswith("//")]
        self.assertEqual(len(reasons()), len(lines))
        self.assertGreater(len(lines), 50)

    def test_both_spellings_are_one_word(self):
        wrong = [camel for camel, upper, *_ in reasons()
                 if re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", camel).upper() != upper]
        self.assertEqual(wrong, [])

    def test_none_stands_twice(self):
        words = [upper for _, upper, *_ in reasons()]
        self.assertEqual(sorted({word for word in words if words.count(word) > 1}), [])

    def test_every_one_says_what_and_what_next(self):
        wrong = [camel for camel, _, _, meaning, advice in reasons()
                 if len(meaning) < 10 or len(advice) < 5 or not meaning.endswith(".")]
        self.assertEqual(wrong, [])

    def test_every_one_is_used(self):
        known = (sources.ROOT / "tests/arch/reasons_unused.txt").read_text(encoding="utf-8").split()
        words = set()
        for path in sources.code_files(sources.PRODUCTS):
            if not path.startswith("common/base/reasons"):
                words |= set(re.findall(r'\bReason::k(\w+)', sources.text(path)))
                words |= set(re.findall(r'"(\w+)"', sources.text(path)))
        # A refusal of the stream or a link between spellings counts too.
        for path in sources.all_files():
            if path.endswith(".proto"):
                words |= set(re.findall(r"\b[A-Z][A-Z_]+\b", sources.text(path)))
        unused = [camel for camel, upper, *_ in reasons() if camel not in words and upper not in words]
        self.assertEqual([word for word in unused if word not in known], [],
                         "given by no product code; remove it, or use it")

    def test_every_word_that_is_given_is_listed(self):
        listed = {camel for camel, *_ in reasons()}
        unknown = []
        for path in sources.code_files(sources.PRODUCTS):
            unknown += [f"{path}: {word}" for word in re.findall(r"\bReason::k(\w+)", sources.text(path))
                        if word not in listed]
        self.assertEqual(unknown, [])


def tests_in_sources():
    """Every Suite.Test of the C++ tests; which binary has it is not looked at."""
    found = set()
    for path in sources.code_files(("tests",)):
        found |= {f"{suite}.{name}" for suite, name in
                  re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", sources.text(path))}
        found |= {f"{suite}.{name}" for suite, name in
                  re.findall(r"\b[A-Z_]+_TEST\(\s*(\w+)\s*,\s*(\w+)\s*\)", sources.text(path))}
    return found


def exists(test, known):
    """`Suite.Test`, `binary Suite.Test`, or `file.py function`; a path before a file's name may stand."""
    words = test.split()
    if words[0].endswith(".py"):
        files = [path for path in sources.all_files() if path.endswith("/" + words[0]) or path == words[0]]
        return len(words) == 2 and any(re.search(rf"\b(def|class) {re.escape(words[1])}\b", sources.text(path))
                                       for path in files)
    if len(words) == 2 and not re.fullmatch(r"\w+_test|\w+_tests", words[0]):
        return False
    # A parameterised test may carry the names of its instance and its parameter.
    name = words[-1]
    parts = name.split("/")
    return any(candidate in known for candidate in
               (name, parts[0], "/".join(parts[1:2]), "/".join(parts[:1]))) if "." in name else False


class Bugs(unittest.TestCase):
    maxDiff = None

    def rows(self):
        """(id, last cell) of each row of the table."""
        found = []
        for line in sources.text(BUGS).splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.startswith("|") and re.fullmatch(r"[A-Z]\d+[a-z]?", cells[0]):
                found.append((cells[0], cells[-1]))
        return found

    def test_every_row_names_a_test_that_exists_or_says_later(self):
        known = tests_in_sources()
        wrong, rows = [], self.rows()
        self.assertGreater(len(rows), 100)
        for name, cell in rows:
            named = re.findall(r"`([^`]+)`", cell)
            if not named and not re.search(r"\blater: issue \d+\b", cell):
                wrong.append(f"{name}: names no test: {cell}")
            wrong += [f"{name}: no such test: {test}" for test in named if not exists(test, known)]
        self.assertEqual(wrong, [])

    def test_no_row_stands_twice(self):
        names = [name for name, _ in self.rows()]
        self.assertEqual(sorted({name for name in names if names.count(name) > 1}), [])

    def test_names_are_looked_up(self):
        known = {"Suite.Test", "Other.Case"}
        for test, there in (("Suite.Test", True), ("a_b_test Suite.Test", True), ("Suite.Else", False),
                            ("Suite.Test/Row", True), ("All/Suite.Test/Row", True), ("Suite", False),
                            ("nothing_test.py f", False), ("catalog_test.py exists", True)):
            self.assertEqual(exists(test, known), there, test)


if __name__ == "__main__":
    unittest.main()
