#include "agent/program.h"

int main(int argc, char** argv) { return nave::RunAgentProgram(argc, argv); }
