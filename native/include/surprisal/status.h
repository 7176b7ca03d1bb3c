/* What a native function returns. 0 is success; after anything else no output was written, except after SRP_DEVICE,
 * SRP_DEVICE_LOST, SRP_STOPPED and SRP_NOT_FINITE, and where memory ran out in the middle of a call: then the outputs are
 * unspecified. The backend's last_error() returns the message. */
#ifndef SURPRISAL_STATUS_H
#define SURPRISAL_STATUS_H

typedef enum {
  SRP_OK = 0,
  SRP_BAD_ARGUMENT = 1,  /* a null pointer, an unknown enumerator, a parameter outside its range, overlapping memory */
  SRP_BAD_SHAPE = 2,     /* negative or contradictory sizes, an array that is too short */
  SRP_BAD_DTYPE = 3,     /* a dtype that this argument does not take */
  SRP_OUT_OF_RANGE = 4,  /* data: an id, an offset or a span that points outside */
  SRP_OUT_OF_MEMORY = 5, /* the backend could not allocate */
  SRP_UNAVAILABLE = 6,   /* no device, no driver, a driver that is too old */
  SRP_DEVICE = 7,        /* the device failed: a launch or a copy */
  SRP_UNSUPPORTED = 8,   /* this library does not have the op, or has another ABI version */
  SRP_STOPPED = 9,       /* the caller asked for an early end (surprisal/cpu.h) */
  SRP_DEVICE_LOST = 10,  /* the device is lost: every call that needs it returns this until the process ends */
  SRP_NOT_FINITE = 11    /* data: NaN, or an infinity where the op takes none, found while the op computed */
} srp_status;

#endif
