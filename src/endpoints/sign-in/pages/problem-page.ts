/** A page without script that says why signing in did not work. */
import type { Answer } from '../../../core/answer.ts'

/** What the page says. All of it is shown as text. */
export interface Problem {
  readonly title: string
  readonly message: string
  /** Where to go on: addresses of this gateway. */
  readonly links: readonly { readonly label: string; readonly href: string }[]
}

/** The page must not be kept, shown inside of another, or load anything. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** The answer with this status. */
export function problemPage(status: number, { title, message, links }: Problem): Answer {
  const items = links.map(({ label, href }) => `<li><a href="${escaped(href)}">${escaped(label)}</a></li>`)
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(message)}</p>
<ul>
${items.join('\n')}
</ul>
</main>
</body>
</html>
`
  return { status, headers: { ...headers }, body }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, sign => entities[sign]!)
}
