#include "agent/rpc/hub_link.h"

// The interface has no code of its own; this file makes it a library.
