/** Texts as literals of shells and programs, so that what is pasted means what was typed. */

/** In single quotes of a POSIX shell. */
export const shell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A string of JSON, Python, JavaScript, TOML and YAML alike. */
export const quoted = (text: string): string => JSON.stringify(text)
