/* globals.h — included before every file under test (-include), so that its variables lie in
 * sections of their own and can be put back before each execution. */
#pragma clang section bss = "model_bss" data = "model_data"
