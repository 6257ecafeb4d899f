"""Who may include whom: the arrows between layers, and what pure layers keep out."""
import re
import unittest

import sources

# What a PURE layer keeps out, itself and through any header of ours: they are costly to compile, and belong to shells.
HEAVY = re.compile(r"grpc\+\+/|grpcpp/|grpc/|google/protobuf/|\.pb\.h|nlohmann/|yaml-cpp/|boost/asio|boost/beast|prometheus/")
# What decisions keep out besides: clocks, threads, randomness, input and output.
IMPURE = re.compile(r"<(thread|mutex|condition_variable|future|fstream|iostream|filesystem|random|unistd\.h|poll\.h|"
                    r"sys/.*|netinet/.*|sqlite3\.h)>|absl/time/clock\.h|absl/synchronization/|common/runtime/")
DECISIONS = re.compile(r"^(hub_decide_.*|hub_session_agent|hub_fleet_snapshot|hub_records_(history|keys|blob_plan)|"
                       r"agent_plan|agent_session|common_(model|manifest|health|guard|value))$")
# A folder's files may include only these folders' files.
FOLDERS = {
    "common": {"common"},
    "hub": {"common", "hub"},
    "agent": {"common", "agent"},
    "cli": {"common", "cli"},
}


def files_of(layer, known):
    """Sources of a layer and the headers that are its own."""
    headers = [path for path in sources.code_files(sources.PRODUCTS)
               if path.endswith(".h") and path.rpartition("/")[0] == layer.folder]
    return layer.sources + [header for header in headers if sources.owner(header, known) == layer.name]


def resolve(what):
    """Path of a header of ours, or None."""
    path = what[1:-1]
    return path if what[0] == '"' and (sources.ROOT / path).is_file() else None


def closure(path):
    """Every file of ours that `path` includes, itself included."""
    seen, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        waiting += [header for _, what in sources.includes(current) if (header := resolve(what))]
    return sorted(seen)


def undeclared(path, allowed, known, seen):
    """(file, line, what, owner) of each include in `path` that is of a layer not allowed; headers without an owner are
    looked into."""
    found = []
    for line, what in sources.includes(path):
        header = resolve(what)
        if header is None or header in seen:
            continue
        seen.add(header)
        owner = sources.owner(header, known)
        if owner is None:
            found += undeclared(header, allowed, known, seen)
        elif owner not in allowed:
            found.append((path, line, what, owner))
    return found


class Borders(unittest.TestCase):
    maxDiff = None

    def test_layers_are_found(self):
        known = sources.layers()
        self.assertGreater(len(known), 20)
        missing = [source for layer in known.values() for source in layer.sources
                   if not (sources.ROOT / source).is_file()]
        self.assertEqual(missing, [])
        self.assertTrue(any(DECISIONS.match(name) for name in known))

    def test_every_source_belongs_to_a_target(self):
        in_layers = {source for layer in sources.layers().values() for source in layer.sources}
        loose = []
        for path in sources.code_files(sources.PRODUCTS):
            if path.endswith(".cc") and path not in in_layers:
                cmake = sources.ROOT / path.rpartition("/")[0] / "CMakeLists.txt"
                if not cmake.is_file() or path.rpartition("/")[2] not in cmake.read_text(encoding="utf-8"):
                    loose.append(path)
        self.assertEqual(loose, [], "not built by anything")

    def test_folders_keep_their_arrows(self):
        wrong = []
        for path in sources.code_files(sources.PRODUCTS):
            for line, what in sources.includes(path):
                top = what[1:-1].split("/")[0]
                if what[0] == '"' and top in sources.CODE_FOLDERS and top not in FOLDERS[path.split("/")[0]]:
                    wrong.append(f"{path}:{line}: {what}")
        self.assertEqual(wrong, [])

    def test_includes_are_declared(self):
        known = sources.layers()
        wrong = []
        for layer in known.values():
            allowed = sources.reachable(layer, known) | {layer.name}
            for path in files_of(layer, known):
                wrong += [f"{layer.name}: {file}:{line}: {what} is of {owner}, which is not declared"
                          for file, line, what, owner in undeclared(path, allowed, known, set())]
                if not any(name.startswith("proto_") for name in allowed):
                    wrong += [f"{layer.name}: {path}:{line}: {what}, but no proto_ target is declared"
                              for line, what in sources.includes(path) if ".pb.h" in what]
        self.assertEqual(wrong, [])

    def test_layers_form_no_circle(self):
        known = sources.layers()
        circles = [name for name, layer in known.items() if name in sources.reachable(layer, known)]
        self.assertEqual(circles, [])

    def test_pure_layers_keep_heavy_headers_out(self):
        known = sources.layers()
        wrong = []
        for layer in known.values():
            if layer.pure:
                for path in {file for own in files_of(layer, known) for file in closure(own)}:
                    wrong += [f"{layer.name}: {path}:{line}: {what}" for line, what in sources.includes(path)
                              if HEAVY.search(what)]
        self.assertEqual(sorted(wrong), [])

    def test_decisions_keep_clocks_threads_and_io_out(self):
        known = sources.layers()
        wrong = []
        for layer in known.values():
            if DECISIONS.match(layer.name):
                for path in files_of(layer, known):
                    wrong += [f"{layer.name}: {path}:{line}: {what}" for line, what in sources.includes(path)
                              if IMPURE.search(what)]
                    wrong += [f"{layer.name}: {path}: reads a clock" for call in ("absl::Now(", "system_clock", "time(nullptr)")
                              if call in sources.without_comments(sources.text(path))]
        self.assertEqual(sorted(wrong), [])

    def test_identity_is_never_what_grpc_says(self):
        # In the mode that the agents' port uses, both are true of a self-signed certificate.
        pattern = re.compile(r"IsPeerAuthenticated|peer_spiffe_id|GRPC_PEER_SPIFFE")
        wrong = [path for path in sources.code_files(sources.PRODUCTS)
                 if pattern.search(sources.without_comments(sources.text(path)))]
        self.assertEqual(wrong, [])


class ParserOfCMake(unittest.TestCase):
    """The checks above are worth what the parser is."""

    def test_reads_a_layer(self):
        layer, = sources.parse_layers("a/b", "# add_layer(NAME no)\nadd_layer(NAME x PURE\n  SOURCES c.cc d.cc # e\n"
                                      "  DEPS y absl::time\n  PRIVATE_DEPS z)\n")
        self.assertEqual((layer.name, layer.pure, layer.sources, layer.deps, layer.private_deps),
                         ("x", True, ["a/b/c.cc", "a/b/d.cc"], ["y", "absl::time"], ["z"]))

    def test_hands_on_public_dependencies_only(self):
        known = {layer.name: layer for layer in sources.parse_layers(
            "a", "add_layer(NAME x DEPS y)\nadd_layer(NAME y DEPS z PRIVATE_DEPS w)\n")}
        self.assertEqual(sources.reachable(known["x"], known), {"y", "z"})


if __name__ == "__main__":
    unittest.main()
