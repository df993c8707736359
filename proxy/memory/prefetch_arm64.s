#include "textflag.h"

// func prefetch(r *record, mark *uint8)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD r+0(FP), R0
	MOVD mark+8(FP), R1
	PRFM (R0), PLDL1KEEP
	PRFM (R1), PLDL1KEEP
	RET
