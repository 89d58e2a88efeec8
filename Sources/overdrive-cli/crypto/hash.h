/* hash.h — libcrypto's hashes, with the processor's own instructions. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
