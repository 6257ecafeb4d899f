"""Sizes and tidiness of the files."""
import re
import subprocess
import unittest

import sources

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70


# What was longer when the rule came, by file or function: may shrink, must not grow.
FILE_LINES_KNOWN = {
    "common/http2/transport.cc": 516,
    "tests/agent/session/keys_test.cc": 613,
    "tests/common/http2/test_server.cc": 567,
}
FUNCTION_LINES_KNOWN = {
    "agent/apply/engine_plan.cc": 81,
    "agent/apply/engine_status.cc": 72,
    "tests/hub/controllers/bundle_controller_test.cc": 98,
    "tests/kubesim/defaults.cc": 74,
    "tests/kubesim/schema_table.cc": 179,
}


def code_lines(lines):
    """How many of a function's lines are code: the rows of a table are data."""
    count, table_ends = 0, None
    for line in lines:
        if table_ends is not None:
            if line.startswith(table_ends):
                table_ends = None
            continue
        if line.strip().startswith(("{", '"', "R\"")):
            continue
        count += 1
        if re.search(r"= \{$", line):
            table_ends = line[:len(line) - len(line.lstrip())] + "}"
    return count


def functions(source):
    """(first line, lines) of each function body in C++ text: an outermost pair of braces that follows a ')' or a
    qualifier, namespaces, classes and initialisers aside."""
    clean = sources.without_comments(source)
    clean = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), clean, flags=re.M)
    found, stack = [], []
    start = 0  # Where the text began that leads to the next brace.
    line = 1
    for at, char in enumerate(clean):
        if char == "\n":
            line += 1
        elif char == "{":
            before = clean[start:at]
            scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^()=;]*$", before)
            inside = any(kind == "function" for kind, _ in stack)
            body = not inside and not scope and re.search(
                r"\)\s*(const|noexcept|override|final|mutable|&|&&|->[^{};]*|:[^{};]*)*\s*$", before)
            stack.append(("function" if body else "other", line))
            start = at + 1
        elif char == "}":
            if stack:
                kind, first = stack.pop()
                if kind == "function":
                    found.append((first, line - first + 1))
            start = at + 1
        elif char == ";":
            start = at + 1
    return found


class Sizes(unittest.TestCase):
    maxDiff = None

    def test_files_are_short(self):
        long = []
        for path in sources.code_files():
            lines = sources.text(path).count("\n")
            if lines > FILE_LINES_KNOWN.get(path, FILE_LINES_MAX):
                long.append(f"{path}: {lines} lines")
        self.assertEqual(long, [], f"more than {FILE_LINES_MAX} lines")

    def test_functions_are_short(self):
        long = []
        for path in sources.code_files():
            lines = sources.text(path).splitlines()
            for first, count in functions(sources.text(path)):
                code = code_lines(lines[first - 1:first - 1 + count]) if count > FUNCTION_LINES_MAX else count
                if code > FUNCTION_LINES_KNOWN.get(path, FUNCTION_LINES_MAX):
                    long.append(f"{path}:{first}: {code} lines")
        self.assertEqual(long, [], f"more than {FUNCTION_LINES_MAX} lines")


class Tidiness(unittest.TestCase):
    maxDiff = None

    def find(self, pattern, paths, skip=()):
        found = []
        for path in paths:
            if path in skip or path.startswith("tests/arch/"):
                continue
            for number, line in enumerate(sources.text(path).splitlines(), 1):
                if re.search(pattern, line):
                    found.append(f"{path}:{number}: {line.strip()[:100]}")
        return found

    def test_no_paths_of_one_machine(self):
        # A home folder, a checkout's place: right on one machine only.
        self.assertEqual(self.find(r"(?<![\w.$}~])/(work|root|home)/\w", sources.all_files()), [])

    def test_no_leftover_markers(self):
        self.assertEqual(self.find(r"\b(TODO|FIXME|XXX|HACK)\b", sources.all_files()), [])

    def test_no_plans_in_the_sources(self):
        # What comes later stands in tests/BUGS.md; a source says what is.
        skip = ("tests/BUGS.md",)
        self.assertEqual(self.find(r"\b[Ii]ssue \d+\b", sources.all_files(), skip), [])

    def test_sources_are_formatted(self):
        paths = [str(sources.ROOT / path) for path in sources.code_files()]
        run = subprocess.run(["clang-format-14", "--dry-run", *paths], capture_output=True, text=True, check=True)
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning: code should be clang-formatted", run.stderr, re.M)))
        self.assertEqual(wrong, [], "run ./dev format")

    def test_headers_are_guarded_by_their_path(self):
        wrong = []
        for path in sources.code_files():
            if path.endswith(".h"):
                guard = "NAVE_" + re.sub(r"\W", "_", path).upper() + "_"
                if f"#ifndef {guard}\n#define {guard}\n" not in sources.text(path):
                    wrong.append(f"{path}: {guard}")
        self.assertEqual(wrong, [])

    def test_headers_begin_with_their_purpose(self):
        wrong = [path for path in sources.code_files(sources.PRODUCTS)
                 if path.endswith(".h") and not sources.text(path).startswith("//")]
        self.assertEqual(wrong, [])

    def test_no_two_types_of_one_name_meet_in_a_program(self):
        """Two headers' types of one name in one program are undefined behaviour that no compiler reports."""
        declared = {}
        for path in sources.code_files(sources.PRODUCTS):
            if not path.endswith(".h"):
                continue
            space = "cli::" if "namespace nave::cli" in sources.text(path) else ""
            for name in re.findall(r"^(?:class|struct) (\w+)(?: final)?(?: :[^;{]*)?\s*\{", sources.text(path), re.M):
                declared.setdefault(space + name, []).append(path)
        # The simulation links hub and agent into one.
        self.assertEqual({name: paths for name, paths in declared.items() if len(paths) > 1}, {})

    def test_locks_are_the_standard_library_s(self):
        # Debian's Abseil is not instrumented: the thread sanitizer does not see its mutex and reports races that
        # are none, and only now and then.
        self.assertEqual(self.find(r"\babsl::(Mutex|CondVar)\b", sources.code_files(("agent", "hub", "common", "cli"))), [])

    def test_tests_do_not_sleep(self):
        # Short ones in a loop that waits for something are no guess at a time.
        sleep = re.compile(r"\b(absl::SleepFor|std::this_thread::sleep_|usleep|nanosleep)\b")
        loop = re.compile(r"\b(for|while) \(")
        found = []
        for path in sources.code_files(("tests",)):
            lines = sources.text(path).splitlines() if path.endswith("_test.cc") else []
            found += [f"{path}:{number}" for number, line in enumerate(lines, 1)
                      if sleep.search(line) and not any(loop.search(near) for near in lines[max(0, number - 4):number])]
        self.assertEqual(found, [])

    def test_files_end_with_one_line_end(self):
        wrong = [path for path in sources.code_files()
                 if not sources.text(path).endswith("\n") or sources.text(path).endswith("\n\n")]
        self.assertEqual(wrong, [])


class CounterOfFunctions(unittest.TestCase):
    def test_counts(self):
        source = ("namespace a {\nclass B {\n public:\n  int C() const { return 1; }\n};\n"
                  "int D(int e) {\n  if (e) {\n    return 1;\n  }\n  auto f = [] { return 2; };\n  return f();\n}\n"
                  "B::B() : g_(1), h_(2) {\n}\nstd::vector<int> i = {\n  1,\n};\n// void j() {\nconst char* k = \"{\";\n"
                  "auto L() -> int {\n}\n}\n")
        self.assertEqual(functions(source), [(4, 1), (6, 7), (13, 2), (20, 2)])


if __name__ == "__main__":
    unittest.main()
