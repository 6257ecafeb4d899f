"""Plants one fault into a copy of a source file, so that a test can see the simulation notice it.

    plant.py list                 one line per fault: name;first seed;file[,file]
    plant.py write NAME FILE OUT  a copy of FILE with the fault

Each fault is an omission that a rule of the stream is there for. A source that no longer has the text that a fault
replaces stops the build: then the fault is to be planted where the rule lives now.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

INTAKE, LEDGER, SESSION = "agent/session/intake.cc", "agent/session/ledger.cc", "agent/session/hub_session.cc"

# Name: (a seed that shows it, [(file, text, what replaces it)]).
FAULTS = {
    # `at` is not stored when a batch changed nothing.
    "at_not_stored": (1, [
        (INTAKE, "  if (idle() && newest_.has_value()) ledger_->StoreAt(newest_->at);\n", "")]),
    # A part of a batch is committed before its last part is in.
    "part_taken_early": (13, [
        (INTAKE, "  if (!partial_->last) return absl::OkStatus();\n",
         "  if (!partial_->last) {\n    DesiredBatch half = *partial_;\n"
         "    TakeBatch(half, nothing_left, now, effects);\n    return absl::OkStatus();\n  }\n")]),
    # A deletion starts while a newer upsert of its key is pending.
    "deletes_while_pending": (41, [
        (INTAKE, "  if (held != nullptr) effects->pending.emplace_back(key, true);\n", "")]),
    # A rejected version does not stand in root and KeySet.
    "rejection_not_remembered": (44, [
        (LEDGER, "    entries[key] = {key, rejected.digest, rejected.confirmed, KeyState::kPresent};\n",
         "    (void)key;\n    (void)rejected;\n")]),
    # A rejection outlives the tombstone that came after it.
    "rejection_outlives": (15, [
        (LEDGER, "  rejected_.erase(tombstone.key);\n", "")]),
    # An upsert leaves a key that is being removed in that state until its content is there.
    "removal_not_stopped": (49, [
        (INTAKE, "  if (held != nullptr && held->state == KeyState::kRemoving) ledger_->Revive(key);\n", "")]),
    # HOLD is not made durable.
    "hold_not_durable": (6, [
        (LEDGER, "  working_.hold_reason = std::string(reason);\n  dirty_ = true;\n",
         "  working_.hold_reason = std::string(reason);\n  dirty_ = reason.empty();\n")]),
    # HOLD does not stop removals under way.
    "hold_does_not_stop": (6, [
        ("agent/apply/engine.cc", "  hold_ = hold;\n  WantRemovals();\n", "  WantRemovals();\n")]),
    # A confirmation is good for any later revision with the same content.
    "confirm_without_revision": (4, [
        ("hub/decide/desired.cc", "entry.confirmed_revision == revision.number && ", "")]),
    # A lost state is taken for a new one.
    "lost_state_not_diverged": (5, [
        ("hub/decide/admission.cc", "  if (hello.state_lost) return HistoryAnswer::kNotContained;\n", ""),
        (SESSION, "  if (welcome.history_contains_yours && !ledger_.state_lost()) {\n",
         "  if (welcome.history_contains_yours) {\n    ledger_.TakeAdopt(welcome.current);\n")]),
    # An adopt keeps the revisions that keys have from the other history.
    "adopt_keeps_revisions": (7, [
        (LEDGER, "  for (auto& [key, held] : working_.assignments) held.revision = 0;\n", "")]),
    # Tombstones do not count when the hub says that the sets are equal.
    "tombstones_not_compared": (1, [
        ("hub/session/agent_session.cc", "desired.tombstones.empty() && ", "")]),
}


def planted(name, file):
    text = (ROOT / file).read_text()
    for path, old, new in FAULTS[name][1]:
        if path != file:
            continue
        if text.count(old) != 1:
            sys.exit(f"plant.py: {name}: {file} has the text {text.count(old)} times that the fault replaces:\n{old}")
        text = text.replace(old, new)
    return text


def main(arguments):
    if arguments == ["list"]:
        for name, (seed, edits) in FAULTS.items():
            print(f"{name};{seed};{','.join(dict.fromkeys(file for file, _, _ in edits))}")
    elif len(arguments) == 4 and arguments[0] == "write":
        pathlib.Path(arguments[3]).write_text(planted(arguments[1], arguments[2]))
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
