#include "textflag.h"

// func prefetch(r *record, mark *uint8)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ r+0(FP), AX
	MOVQ mark+8(FP), BX
	PREFETCHT0 (AX)
	PREFETCHT0 (BX)
	RET
