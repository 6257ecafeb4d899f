// The command line of nave-hub.
#ifndef NAVE_HUB_PROGRAM_H_
#define NAVE_HUB_PROGRAM_H_

namespace nave {

// Runs `nave-hub [--config FILE] [--SETTING VALUE …] [config print|check | version]` until SIGTERM.
// Exit codes: 0 after a clean end, 1 when the hub cannot start or must stop, 2 usage, 78 a bad
// configuration (EX_CONFIG of sysexits).
int RunHubProgram(int argc, char** argv);

}  // namespace nave

#endif  // NAVE_HUB_PROGRAM_H_
