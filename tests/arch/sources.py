"""What the checks of this folder share: the repository's files and its layers as the CMake files declare them."""
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("common", "hub", "agent", "cli", "tests")
PRODUCTS = ("common", "hub", "agent", "cli")


@functools.lru_cache(maxsize=None)
def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


@functools.lru_cache(maxsize=None)
def code_files(folders=CODE_FOLDERS):
    """Paths of C++ files relative to the root, sorted."""
    found = []
    for folder in folders:
        for suffix in ("*.h", "*.cc"):
            found += [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(suffix)]
    return sorted(found)


@functools.lru_cache(maxsize=None)
def all_files():
    """Every text file that belongs to the repository, build folders and dot folders aside."""
    found = []
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if parts[0] == "build" or any(part == "__pycache__" for part in parts) or not path.is_file():
            continue
        if parts[0].startswith(".") and parts[0] not in (".ci", ".clang-format", ".gitignore", ".dockerignore"):
            continue
        try:
            text(path.relative_to(ROOT).as_posix())
        except UnicodeDecodeError:
            continue
        found.append(path.relative_to(ROOT).as_posix())
    return sorted(found)


def without_comments(source):
    """C++ text with comments, strings and characters blanked out; line numbers stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


class Layer:
    def __init__(self, name, folder, sources, deps, private_deps, pure):
        self.name = name
        self.folder = folder
        self.sources = sources
        self.deps = deps
        self.private_deps = private_deps
        self.pure = pure


def parse_layers(folder, cmake):
    """The add_layer calls of one CMakeLists.txt."""
    layers = []
    cmake = re.sub(r"#[^\n]*", "", cmake)
    for call in re.finditer(r"\badd_layer\(([^)]*)\)", cmake):
        fields = {"NAME": [], "SOURCES": [], "DEPS": [], "PRIVATE_DEPS": []}
        pure, field = False, None
        for word in call.group(1).split():
            if word in fields:
                field = word
            elif word == "PURE":
                pure = True
            else:
                fields[field].append(word)
        sources = [f"{folder}/{source}" for source in fields["SOURCES"]]
        layers.append(Layer(fields["NAME"][0], folder, sources, fields["DEPS"], fields["PRIVATE_DEPS"], pure))
    return layers


@functools.lru_cache(maxsize=None)
def layers():
    """Every layer by name."""
    found = {}
    for product in PRODUCTS:
        for cmake in sorted((ROOT / product).rglob("CMakeLists.txt")):
            folder = cmake.parent.relative_to(ROOT).as_posix()
            for layer in parse_layers(folder, cmake.read_text(encoding="utf-8")):
                found[layer.name] = layer
    return found


def reachable(layer, known):
    """Names that `layer` may use: its own dependencies and what those hand on."""
    seen, waiting = set(), list(layer.deps + layer.private_deps)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in known:
            waiting += known[name].deps
    return seen


def owner(header, known):
    """The layer that a header of ours belongs to: the one that has the source of the same name. None for a header of
    values or of an interface, which has none and so is nobody's code: it asks for no more than what it includes."""
    stem = header.rsplit(".", 1)[0]
    for layer in known.values():
        if any(source.rsplit(".", 1)[0] == stem for source in layer.sources):
            return layer.name
    return None


def includes(path):
    """(line, what) of each #include; what keeps its quotes or brackets."""
    found = []
    for number, line in enumerate(text(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+(["<][^">]+[">])', line)
        if match:
            found.append((number, match.group(1)))
    return found
