import { masterKey } from './harness.ts'

type Json = Record<string, any>

/** A browser without script: it keeps cookies, names its origin, and sends forms as they were shown. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  async ask(method: string, path: string, options: { body?: Json | URLSearchParams; headers?: Json } = {}) {
    const { body, headers } = options
    const isForm = body instanceof URLSearchParams
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(this.cookies.size > 0 && { cookie: [...this.cookies].map(pair => pair.join('=')).join('; ') }),
        ...(method !== 'GET' && { origin: this.url }),
        ...(body && !isForm && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === '') this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
    return response
  }

  async json(method: string, path: string, body?: Json): Promise<Json> {
    const response = await this.ask(method, path, { ...(body && { body }) })
    return { status: response.status, ...((await response.json()) as Json) }
  }

  signIn(username = 'admin', password = masterKey) {
    return this.json('POST', '/login', { username, password })
  }

  /** As a person does without script. */
  async fillIn(fields: Json, query = '', page = '/fallback/login') {
    const shown = await (await this.ask('GET', `${page}${query}`)).text()
    const action = /<form method="post" action="([^"]+)"/.exec(shown)![1]!
    const hidden = [...shown.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ])
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
    return this.ask('POST', new URL(action, this.url + page).pathname, { body })
  }
}
