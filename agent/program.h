// The program nave-agent.
#ifndef NAVE_AGENT_PROGRAM_H_
#define NAVE_AGENT_PROGRAM_H_

namespace nave {

// Runs until SIGTERM or SIGINT; returns the exit code: 0, 1 (could not start), 2 (usage), 78
// (configuration).
int RunAgentProgram(int argc, char** argv);

}  // namespace nave

#endif  // NAVE_AGENT_PROGRAM_H_
