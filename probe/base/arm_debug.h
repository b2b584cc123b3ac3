/* SPDX-License-Identifier: MIT */
/*
 * Registers by which a debugger reaches Arm cores: addresses on Cortex-M, offsets in a component elsewhere,
 * and their bits, by the names of the architecture manuals: DDI 0403 for Cortex-M, DDI 0406C for Armv7-A and
 * -R, DDI 0487 for Armv8-A.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* --- CoreSight components: IHI 0029 B2.3 ---------------------------------------------------------------- */

enum { CORESIGHT_LAR = 0xFB0, CORESIGHT_LSR = 0xFB4, CORESIGHT_AUTHSTATUS = 0xFB8 };
enum { LSR_PRESENT = 1 << 0, LSR_LOCKED = 1 << 1 };
static const uint32_t LAR_KEY = 0xC5ACCE55; /* unlocks; any other value locks */

/* --- Cortex-M: DDI 0403 B3.2.2, C1.6 to C1.11; DDI 0419 for Armv6-M; DDI 0553 D1.2 for Armv8-M ---------- */

enum {
    DWT_CTRL = 0xE0001000,
    DWT_CYCCNT = 0xE0001004,
    DWT_CPICNT = 0xE0001008,
    DWT_EXCCNT = 0xE000100C,
    DWT_SLEEPCNT = 0xE0001010,
    DWT_LSUCNT = 0xE0001014,
    DWT_FOLDCNT = 0xE0001018,
    DWT_PCSR = 0xE000101C,
    DWT_COMP0 = 0xE0001020,
    DWT_MASK0 = 0xE0001024,
    DWT_FUNCTION0 = 0xE0001028,
    FP_CTRL = 0xE0002000, /* BP_CTRL on Armv6-M */
    FP_REMAP = 0xE0002004,
    FP_COMP0 = 0xE0002008,
    M_PMU = 0xE0003000, /* Armv8.1-M: registers at the offsets of Armv7's */
    SYST_CSR = 0xE000E010,
    SYST_RVR = 0xE000E014,
    SYST_CVR = 0xE000E018,
    CPUID = 0xE000ED00,
    ICSR = 0xE000ED04,
    ICTR = 0xE000E004,
    VTOR = 0xE000ED08,
    AIRCR = 0xE000ED0C,
    CCR = 0xE000ED14,
    DFSR = 0xE000ED30,
    DHCSR = 0xE000EDF0,
    DCRSR = 0xE000EDF4,
    DCRDR = 0xE000EDF8,
    DEMCR = 0xE000EDFC,
    ICIMVAU = 0xE000EF58,
    DCCMVAU = 0xE000EF64,
    DAUTHSTATUS = 0xE000EFB8, /* Armv8-M only */
};

enum {
    ICSR_PENDSTCLR = 1 << 25,
    ICSR_PENDSTSET = 1 << 26,
    ICSR_ISRPREEMPT = 1 << 23, /* an exception will be taken on leaving Debug state */
    ICSR_RETTOBASE = 1 << 11,  /* no exception is active below the one in VECTACTIVE */
    ICSR_VECTACTIVE = 0x1FF,
    CCR_DC = 1 << 16,
    CCR_IC = 1 << 17,
    DFSR_HALTED = 1 << 0,
    DFSR_BKPT = 1 << 1,
    DFSR_DWTTRAP = 1 << 2,
    DFSR_VCATCH = 1 << 3,
    DFSR_EXTERNAL = 1 << 4,
    DFSR_PMU = 1 << 5, /* Armv8.1-M */
    DFSR_ALL = 0x1F,
    DHCSR_C_DEBUGEN = 1 << 0,
    DHCSR_C_HALT = 1 << 1,
    DHCSR_C_STEP = 1 << 2,
    DHCSR_C_MASKINTS = 1 << 3,
    DHCSR_C_PMOV = 1 << 6, /* Armv8.1-M: a PMU counter's interrupt halts */
    DHCSR_S_REGRDY = 1 << 16,
    DHCSR_S_HALT = 1 << 17,
    DHCSR_S_SLEEP = 1 << 18,
    DHCSR_S_LOCKUP = 1 << 19,
    DHCSR_S_RESET_ST = 1 << 25, /* sticky until it is read */
    DEMCR_VC_CORERESET = 1 << 0,
    DEMCR_VC_EXCEPTIONS = 0x7F0,
    DEMCR_VC_SFERR = 1 << 11, /* Armv8-M: a SecureFault */
    DEMCR_MON_EN = 1 << 16,
    DEMCR_MON_REQ = 1 << 19,  /* for software alone; a reset clears it */
    DEMCR_MONPRKEY = 1 << 23, /* Armv8.1-M: MON_PEND, MON_EN and MON_REQ are kept, whatever is written */
    DEMCR_TRCENA = 1 << 24,
    FP_CTRL_ENABLE = 1 << 0,
    FP_CTRL_KEY = 1 << 1,
    XPSR_IPSR = 0x1FF,
};
/* LR in a Non-secure function called from the Secure state, DDI 0553 B3.15; bit 0 is the security state. */
static const uint32_t FNC_RETURN = 0xFEFFFFFE;
static const uint32_t DHCSR_KEY = 0xA05F0000, AIRCR_SYSRESETREQ = 0x05FA0004, ICSR_NMIPENDSET = 1U << 31;

/* --- trace of a Cortex-M: DDI 0403 C1.7, C1.8; DDI 0553 D1.2; the TPIU's in DDI 0314 ---------------------
 */

enum {
    DWT_DEVARCH = 0xE0001FBC,
    ITM_TER = 0xE0000E00,
    ITM_TCR = 0xE0000E80,
    ITM_LAR = 0xE0000FB0,
    ITM_LSR = 0xE0000FB4,
    DWT_COMPARATOR = 0x10, /* from one comparator's registers to the next one's */
};

enum {
    DWT_CYCTAP = 1 << 9,
    DWT_POSTPRESET = 0xF << 1,
    DWT_POSTINIT = 0xF << 5,
    DWT_PCSAMPLENA = 1 << 12,
    DWT_EXCTRCENA = 1 << 16,
    DWT_CYCEVTENA = 1 << 22,
    DWT_NOTRCPKT = 1 << 27,
    DWT_NUMCOMP = 28, /* from this bit on */
    ITM_ITMENA = 1 << 0,
    ITM_TSENA = 1 << 1,
    ITM_TXENA = 1 << 3,
    ITM_SWOENA = 1 << 4,
    ITM_TSPRESCALE = 3 << 8,
    ITM_GTSFREQ = 3 << 10,
    ITM_BUS_ID = 16, /* from this bit on */
    ITM_BUS_IDS = 0x7F << 16,
    ITM_BUSY = 1 << 23,
};

/* Of a comparator on Armv8-M. */
enum {
    FUNCTION_SETTINGS = 0xC3F, /* MATCH, ACTION, DATAVSIZE */
    FUNCTION_IN_USE = 0xF,
    FUNCTION_CODE = 0x822, /* an instruction's address; emits a match packet */
    FUNCTION_WRITE = 0x2D, /* a write; emits its value */
    FUNCTION_SIZE = 10,    /* from this bit on: the object at COMP has 1, 2 or 4 bytes as 0, 1, 2 */
    FUNCTION_HAS_CODE = 1 << 28,
    FUNCTION_HAS_DATA = 1 << 30,
    FUNCTION_V7_SETTINGS = 0xFFDAF,
    FUNCTION_V7_WRITE = 0xD, /* a write; emits its value */
    FUNCTION_V7_ACCESS = 2,  /* the same of a read, too */
};

/* In a TPIU, in a funnel. */
enum {
    TPIU_CSPSR = 0x004,
    TPIU_ACPR = 0x010,
    TPIU_SPPR = 0x0F0,
    TPIU_FFSR = 0x300,
    TPIU_FFCR = 0x304,
    TPIU_UART = 2, /* SPPR: SWO, NRZ */
    TPIU_DEVID_NRZ = 1 << 11,
    TPIU_FFCR_FORMATS = 3,     /* EnFTC, EnFCont */
    TPIU_FFCR_FLUSH = 1 << 6,  /* 0 again when it is over */
    TPIU_FFCR_STOPS = 1 << 12, /* on that flush */
    TPIU_FLUSHES = 1 << 0,     /* of FFSR */
    TPIU_STOPPED = 1 << 1,
    TPIU_STOPS_NEVER = 1 << 3, /* a core's own */
    TPIU_FFCR_TRIGIN = 1 << 8, /* and nothing else: no formatter, the bytes of one source */
    FUNNEL_CTRL = 0x000,
    FUNNEL_INPUTS = 0xFF,
};

/* --- Armv7-A and -R: DDI 0406C table C11-1, C11.11 ------------------------------------------------------ */

enum {
    DBGDIDR = 0x000,
    DBGVCR = 0x01C,
    DBGECR = 0x024,
    DBGDTRRX = 0x080,
    DBGITR = 0x084,
    DBGDSCR = 0x088,
    DBGDTRTX = 0x08C,
    DBGDRCR = 0x090,
    DBGBVR0 = 0x100,
    DBGBCR0 = 0x140,
    DBGWVR0 = 0x180,
    DBGWCR0 = 0x1C0,
    DBGOSLAR = 0x300,
    DBGOSLSR = 0x304,
    DBGPRCR = 0x310,
    DBGPRSR = 0x314,
    DBGMIDR = 0xD00,
};

enum {
    DBGDSCR_HALTED = 1 << 0,
    DBGDSCR_RESTARTED = 1 << 1, /* 0 from the request to leave Debug state until that is done */
    DBGDSCR_STOPPED = DBGDSCR_HALTED | DBGDSCR_RESTARTED,
    DBGDSCR_MOE = 0xF << 2, /* how Debug state was entered */
    DBGDSCR_STICKY = 0x1C0, /* exceptions */
    DBGDSCR_DBGACK = 1 << 10,
    DBGDSCR_INTDIS = 1 << 11,
    DBGDSCR_UDCCDIS = 1 << 12,
    DBGDSCR_ITREN = 1 << 13,
    DBGDSCR_HDBGEN = 1 << 14,
    DBGDSCR_MDBGEN = 1 << 15,
    DBGDSCR_ADADISCARD = 1 << 19,
    DBGDSCR_EXTDCCMODE = 3 << 20,
    DBGDSCR_INSTRCOMPL_L = 1 << 24,
    DBGDSCR_TXFULL_L = 1 << 26,
    DBGDSCR_RXFULL_L = 1 << 27,
    DBGDSCR_PROGRAMS = DBGDSCR_UDCCDIS | DBGDSCR_MDBGEN | DBGDSCR_ADADISCARD | DBGDSCR_EXTDCCMODE,
};
enum { /* DBGDSCR.MOE */
       MOE_HALT_REQUEST = 0 << 2,
       MOE_BREAKPOINT = 1 << 2,
       MOE_ASYNC_WATCHPOINT = 2 << 2,
       MOE_BKPT = 3 << 2,
       MOE_EXTERNAL_REQUEST = 4 << 2,
       MOE_VECTOR_CATCH = 5 << 2,
       MOE_SYNC_WATCHPOINT = 10 << 2,
};
enum { DBGDRCR_HALT = 1 << 0, DBGDRCR_RESTART = 1 << 1, DBGDRCR_CLEAR_STICKY = 1 << 2 };
enum { OSLSR_LOCKED = 1 << 1 };
enum { DIDR_CONTEXTS = 20, DIDR_BREAKPOINTS = 24, DIDR_WATCHPOINTS = 28 }; /* this number plus one */
enum { DBGVCR_RESET = 1 << 0 };
enum { CPSR_MODE = 0x1F, CPSR_USER = 0x10, CPSR_T = 1 << 5 }; /* B1.3.3 */

/* Of Armv8, too: EDPRCR, EDPRSR. */
enum { PRCR_CORENPDRQ = 1 << 0, PRCR_CWRR = 1 << 1 };
enum { /* in DBGPRSR, HALTED, OSLK and DLK are there since Armv7.1; EPMAD is not */
       PRSR_PU = 1 << 0,
       PRSR_SPD = 1 << 1,
       PRSR_R = 1 << 2,
       PRSR_SR = 1 << 3,
       PRSR_HALTED = 1 << 4,
       PRSR_OSLK = 1 << 5,
       PRSR_DLK = 1 << 6,
       PRSR_EPMAD = 1 << 9,
};

/* --- Armv8-A: DDI 0487 tables H8-4 and H8-6, H9.2 ------------------------------------------------------- */

enum {
    EDECR = 0x024,
    DBGDTRRX_EL0 = 0x080,
    EDITR = 0x084,
    EDSCR = 0x088,
    DBGDTRTX_EL0 = 0x08C,
    EDRCR = 0x090,
    EDECCR = 0x098,
    OSLAR_EL1 = 0x300,
    EDPRCR = 0x310,
    EDPRSR = 0x314,
    DBGBVR0_EL1 = 0x400,
    DBGBCR0_EL1 = 0x408,
    DBGWVR0_EL1 = 0x800,
    DBGWCR0_EL1 = 0x808,
    MIDR_EL1 = 0xD00,
    EDDFR = 0xD28,
    ARMV8_COMPARATOR_STRIDE = 16,
};

/* Of the cross trigger interface: trigger output 0 halts the core, on Armv8 output 1 lets it run. Armv7 cores
 * have the one of CoreSight, with the same offsets (DDI 0458 tables 10.15 and 10.16, for Cortex-R7). */
enum {
    CTICONTROL = 0x000,
    CTIINTACK = 0x010,
    CTIAPPPULSE = 0x01C,
    CTIINEN0 = 0x020,
    CTIOUTEN0 = 0x0A0,
    CTITRIGOUTSTATUS = 0x134,
    CTIGATE = 0x140,
    CTIDEVCTL = 0x150,
    CTIDEVID = 0xFC8,
};
enum { CTI_OUTPUT_HALT, CTI_OUTPUT_RUN, CTI_OUTPUTS, CTICONTROL_GLBEN = 1 };
enum { CTI_INPUT_PMU = 1 }; /* the interrupt request of the core's PMU, DDI 0487 table H5-1 */
enum { DEVID_TRIGGERS = 8, DEVID_CHANNELS = 16 }; /* CTIDEVID.NUMTRIG, NUMCHAN */
enum { DEVID_TRIGGERS_MASK = 0xFF, DEVID_CHANNELS_MASK = 0x3F };

enum {
    EDSCR_STATUS = 0x3F,
    EDSCR_HALTED = 3, /* the low bits of STATUS in Debug state; 2 is running, 1 on its way out */
    EDSCR_ERR = 1 << 6,
    EDSCR_EL_SHIFT = 8,
    EDSCR_RW_SHIFT = 10, /* a bit for each Exception level: it is in AArch64 state */
    EDSCR_HDE = 1 << 14,
    EDSCR_NS = 1 << 18, /* the state that it is in is not Secure */
    EDSCR_MA = 1 << 20, /* ignored while the core runs, and cleared when it enters Debug state */
    EDSCR_TDA = 1 << 21,
    EDSCR_INTDIS = 3 << 22,
    EDSCR_ITE = 1 << 24, /* it takes an instruction */
    EDSCR_TXFULL = 1 << 29,
    EDSCR_RXFULL = 1 << 30,
};
enum { /* EDSCR.STATUS in Debug state */
       EDSCR_AT_BREAKPOINT = 0x07,
       EDSCR_AT_REQUEST = 0x13,
       EDSCR_STEPPED = 0x1B, /* and two more values with these bits */
       EDSCR_AT_RESET = 0x27,
       EDSCR_AT_WATCHPOINT = 0x2B,
       EDSCR_AT_HLT = 0x2F,
       EDSCR_AT_EXCEPTION = 0x37,
};
/* Of CTIDEVCTL, too. */
enum { EDECR_OSUCE = 1 << 0, EDECR_RCE = 1 << 1, EDECR_SS = 1 << 2, EDRCR_CSE = 1 << 2, OSLAR_LOCK = 1 };
enum { DFR_BREAKPOINTS = 12, DFR_WATCHPOINTS = 20, DFR_CONTEXTS = 28 }; /* this number plus one */

/* --- performance monitors: DDI 0406C table D2-1, DDI 0487 chapter I5, DDI 0553 D1.2 --------------------- */

enum {
    PMEVCNTR0 = 0x000,
    PMCCNTR_V7 = 0x07C,
    PMEVTYPER0 = 0x400,
    PMCCFILTR = 0x47C, /* PMXEVTYPER31 on Armv7 */
    PMCNTENSET = 0xC00,
    PMCNTENCLR = 0xC20,
    PMINTENSET = 0xC40,
    PMINTENCLR = 0xC60,
    PMOVSCLR = 0xC80, /* PMOVSR on Armv7 */
    PMCFGR = 0xE00,   /* PMU_TYPE on Armv8.1-M */
    PMCR = 0xE04,
    PMUSERENR = 0xE08,
    PMCEID0 = 0xE20,
    PMCEID1 = 0xE24,
};

/*
 * What access ports and CoreSight components say that they are, and how ROM tables lead from one to the next.
 */

/* --- access ports: IDR, IHI 0031 C2.6.4 ----------------------------------------------------------------- */

enum { DP_TARGETID = 0x24 }; /* IHI 0074 B2.2.10 */

/* Whatever its cores are, of which it has two kinds; without the revision. */
static inline bool targetid_is_rp2350(uint64_t targetid)
{
    return (targetid & 0x0FFFFFFF) == 0x0040927;
}

enum { IDR_CLASS = 0xF << 13, IDR_CLASS_MEMORY = 8 << 13, IDR_TYPE = 0xF };

/* PORT_NONE: it has no memory, or cannot be read. */
enum port_bus { PORT_NONE, PORT_OTHER, PORT_JTAG, PORT_AHB, PORT_APB, PORT_AXI };

static inline enum port_bus port_bus_of(uint32_t idr)
{
    static const uint8_t buses[] = {PORT_JTAG, PORT_AHB, PORT_APB, PORT_OTHER, PORT_AXI,
                                    PORT_AHB,  PORT_APB, PORT_AXI, PORT_AHB};
    unsigned type = idr & IDR_TYPE;
    return type < sizeof buses ? (enum port_bus)buses[type] : PORT_OTHER;
}

/* --- exceptions of a Cortex-M: DDI 0403 B1.5.6 to B1.5.8, DDI 0553 B3.19 to B3.22, D1.2.78 -------------- */

static const uint32_t EXC_RETURN = 0xFFFFFF00; /* and above */
enum {
    RETURN_TO_SECURE = 1 << 6,
    RETURN_KEEPS_CALLEES = 1 << 5,
    RETURN_BASIC_FRAME = 1 << 4,
    RETURN_TO_THREAD = 1 << 3,
    RETURN_TO_PSP = 1 << 2,
    RETURN_FROM_SECURE = 1 << 0,
    /* Words of the frame */
    STACKED_LR = 5,
    STACKED_PC = 6,
    STACKED_STATUS = 7,
    STACKED_THUMB = 1 << 24
};

/* Before Armv8-M both bits are 1. */
static inline bool exception_crosses(uint32_t back)
{
    return ((back & RETURN_TO_SECURE) != 0) != ((back & RETURN_FROM_SECURE) != 0);
}

/* Of Armv8-M with the Security Extension: whether the frame of Secure code has S16 to S31, too, if FPCCR.TS
 * is set: DDI 0553 B3.19. Others have that bit as 0. */
static const uint32_t FPCCR = 0xE000EF34;
enum { FPCCR_TS = 1 << 26 };
static inline bool exception_has_fpccr(uint32_t back)
{
    return (back & RETURN_TO_SECURE) != 0 && (back & RETURN_BASIC_FRAME) == 0;
}

/* The stack pointer once the frame at `sp` is taken off; `status` is its xPSR. `fpccr`: 0 if the frame does
 * not depend on it. */
static inline uint32_t exception_frame_end(uint64_t sp, uint32_t back, uint32_t status, uint32_t fpccr)
{
    enum { BASIC_FRAME = 0x20, EXTENDED_FRAME = 0x68, WHOLE_FRAME = 0xA8, STATUS_ALIGNED = 1 << 9 };
    bool is_whole = exception_has_fpccr(back) && (fpccr & FPCCR_TS) != 0;
    uint32_t extended = is_whole ? WHOLE_FRAME : EXTENDED_FRAME;
    return (uint32_t)sp + ((back & RETURN_BASIC_FRAME) != 0 ? BASIC_FRAME : extended) +
           ((status & STATUS_ALIGNED) != 0 ? 4 : 0);
}

/* --- components: IHI 0029 B2.2; DEVARCH, DEVID and DEVTYPE of class 9 only ------------------------------ */

enum {
    COMPONENT_DEVARCH = 0xFBC,
    COMPONENT_DEVID = 0xFC8,
    COMPONENT_DEVTYPE = 0xFCC,
    COMPONENT_PIDR4 = 0xFD0,
    COMPONENT_PIDR0 = 0xFE0,
    COMPONENT_CIDR0 = 0xFF0,
    COMPONENT_CIDR1 = 0xFF4
};
enum { CLASS_ROM = 0x1, CLASS_CORESIGHT = 0x9, CLASS_GENERIC = 0xE };
/* DEVARCH.ARCHID; the System Control Space's: DDI 0553 D1.2. */
enum { ARCHID_ROM = 0x0AF7, ARCHID_MEM_AP = 0x0A17, ARCHID_APV1 = 0x0A47, ARCHID_SCS = 0x2A04 };

/* --- ROM tables: IHI 0031 D2.2 (class 1) and IHI 0074 D3 (class 9) -------------------------------------- */

enum { ROM_DEPTH = 4 }; /* tables in tables that are followed */
static const uint32_t ROM_OFFSET = 0xFFFFF000;

enum rom_entry { ROM_END, ROM_ABSENT, ROM_PRESENT };

/* An entry of 0 ends a table; one that is not present is skipped. */
static inline enum rom_entry rom_entry_of(bool class_1, uint32_t entry)
{
    if (class_1 ? entry == 0 : (entry & 3) == 0)
        return ROM_END;
    return (class_1 ? (entry & 1) == 1 : (entry & 3) == 3) ? ROM_PRESENT : ROM_ABSENT;
}

/* How many words an entry has, by DEVID of class 9. */
static inline unsigned rom_entry_words(uint32_t devid)
{
    return (devid & 0xF) == 0 ? 1 : 2;
}

/* Of what an entry leads to. Offsets are signed. */
static inline uint64_t rom_entry_address(uint64_t base, unsigned words, uint32_t entry, uint32_t high)
{
    uint64_t at = base + ((uint64_t)high << 32 | (entry & ROM_OFFSET));
    return words == 1 ? (uint32_t)at : at;
}

static inline unsigned rom_entries(bool class_1, unsigned words)
{
    return class_1 ? 960 : 512 / words;
}
