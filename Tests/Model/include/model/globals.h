/* globals.h — included before every file under test (-include), so that its variables lie in
 * sections of their own and can be put back before each execution. */
#pragma clang section bss = "model_bss" data = "model_data"
/* A double has its original's parameters, and not for each a use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
