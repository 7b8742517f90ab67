/* Text as unsigned bytes. The sign of char differs between processors, and must not change the meaning of bytes above
 * 127. Text is char only for libc and Python. */
#ifndef ENGINETOUR_BYTES_H
#define ENGINETOUR_BYTES_H

typedef unsigned char Byte;

#endif
