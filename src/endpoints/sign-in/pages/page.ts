/** Pages that work without script and without the files of the panel. Links are relative: a prefix may stand before. */
import { createHash } from 'node:crypto'
import type { Answer } from '../../../core/answer.ts'
import { toGatewayError } from '../../../core/errors.ts'
import { Html, html } from '../../../lib/html.ts'

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 24rem; margin: 12vh auto; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem }
label { display: block; margin-top: 1rem }
input, select { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit }
button { margin: 1.5rem .5rem 0 0; padding: .5rem 1.5rem; font: inherit; cursor: pointer }
[role=alert] { border-left: 4px solid #c22; padding-left: .75rem }
.code { font: 600 2rem/1.4 ui-monospace, monospace; letter-spacing: .1em; margin: 1rem 0 }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem }
dt { opacity: .75 }
dd { margin: 0 }
`

const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-store',
  // Without any the browser would not name the origin of a form.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** What a page consists of. */
export interface Page {
  readonly title: string
  readonly content: Html
  /** Shown to the user above the content, as plain text. */
  readonly message?: string | undefined
}

/** An answer with a page. */
export function pageAnswer({ title, content, message }: Page, status = 200): Answer {
  const notice = message === undefined ? '' : html`<p role="alert">${message}</p>`
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${notice}
${content}
</main>
</body>
</html>
`
  return { status, headers: { ...headers }, body: whole.text }
}

/** Sends the browser on with GET; `location` is relative to the present path. */
export function movedAnswer(location: string, cookies: readonly string[]): Answer {
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: null, cookies }
}

/** The page again, with what was wrong. What is not the user's to know is thrown again. */
export function refusalPage(thrown: unknown, again: (message: string, status: number) => Answer): Answer {
  const { kind, message, status, retryAfterMs } = toGatewayError(thrown)
  if (kind === 'internal') throw thrown
  const said = `${message[0]!.toUpperCase()}${message.slice(1)}${message.endsWith('?') ? '' : '.'}`
  if (retryAfterMs === undefined) return again(said, status)
  const seconds = Math.ceil(retryAfterMs / 1000)
  const answer = again(`${said} Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`, status)
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
}

/** A field that the user does not see. */
export function hiddenField(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}
