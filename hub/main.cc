#include "hub/program.h"

int main(int argc, char** argv) { return nave::RunHubProgram(argc, argv); }
