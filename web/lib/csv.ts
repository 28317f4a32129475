/** Tables for spreadsheets. */

/**
 * Where spreadsheets run what follows: at the beginning of a text, and behind a semicolon or a tab, which part cells
 * where the comma is that of decimals. An apostrophe keeps it a text. The last four are wide forms of the first.
 */
const formulas = /(^|[;\t])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const text = value.replace(formulas, (_all, start: string) => `${start}'`)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** RFC 4180. Texts of others cannot become formulas. */
export const csvText = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map(row => `${row.map(cell).join(',')}\r\n`).join('')

/** Hands a file to the browser, which stores it. */
export function download(name: string, text: string, type = 'text/csv'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
