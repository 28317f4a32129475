/** The bytes of UTF-8 that JSON's syntax is made of (RFC 8259, 2), but for white space and words. */

/** `"` */
export const quote = 0x22
/** `,` */
export const comma = 0x2c
/** `:` */
export const colon = 0x3a
/** `[` */
export const openBracket = 0x5b
/** `\` */
export const backslash = 0x5c
/** `]` */
export const closeBracket = 0x5d
/** `{` */
export const openBrace = 0x7b
/** `}` */
export const closeBrace = 0x7d
