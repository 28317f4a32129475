/** HTML in which no value becomes markup. */

/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, sign => references[sign]!)

type Value = string | number | Html | readonly Html[] | undefined

/** A template: texts are escaped, also within quoted attributes; undefined is left out. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.map((part, at) => part + shown(values[at])).join(''))
}

function shown(value: Value): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  return Array.isArray(value) ? value.map((one: Html) => one.text).join('') : escaped(String(value))
}
