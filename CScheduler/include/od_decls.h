/* od_decls.h — declares C linkage when a C++ compiler reads the public headers. */
#ifndef OD_DECLS_H
#define OD_DECLS_H

#ifdef __cplusplus
#define OD_BEGIN_DECLS extern "C" {
#define OD_END_DECLS }
#else
#define OD_BEGIN_DECLS
#define OD_END_DECLS
#endif

#endif
