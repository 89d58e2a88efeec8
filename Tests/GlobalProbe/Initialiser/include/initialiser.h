#ifndef INITIALISER_H
#define INITIALISER_H

/* Has the linker bring the object that the initialiser is in. */
void initialiser_is_linked(void);

#endif
