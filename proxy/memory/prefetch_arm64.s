#include "textflag.h"

// func prefetch(r *record)
TEXT ·prefetch(SB), NOSPLIT, $0-8
	MOVD r+0(FP), R0
	PRFM (R0), PLDL1KEEP
	RET
