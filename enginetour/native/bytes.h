/* Text as unsigned bytes. The sign of char differs between processors: a byte above 127 of an engine must not change
 * its meaning there. Text is char only where libc and Python take or give it. */
#ifndef ENGINETOUR_BYTES_H
#define ENGINETOUR_BYTES_H

typedef unsigned char Byte;

#endif
