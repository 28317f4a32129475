/** A browser that has signed in as a user, for tests of what a person does on the gateway's pages. */
import { openDatabase } from '../../../src/store/database/open.ts'
import { openKeyHash } from '../../../src/store/keys/installation.ts'
import { createSessionStore } from '../../../src/store/sign-in/sessions.ts'
import { systemClock } from '../../../src/lib/clock.ts'

export interface Browser {
  get(path: string): Promise<Response>
  /** Sends a form as a page of the gateway does. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>
}

const hourMs = 3_600_000

/** `userId` null = the operator. The session is made in the database, as any way of signing in makes it. */
export async function signedInBrowser(url: string, databaseUrl: string, userId: string | null): Promise<Browser> {
  const database = await openDatabase(databaseUrl)
  try {
    const hashKey = await openKeyHash(database, undefined)
    const sessions = createSessionStore({ database, clock: systemClock, hashKey, onChange() {} })
    const { secret } = await sessions.create({
      userId,
      method: 'password',
      credential: null,
      userAgent: 'a browser',
      clientAddress: '127.0.0.1',
      idleMs: hourMs,
      lifetimeMs: hourMs,
    })
    return browserWith(url, `modelgate_session=${secret}`)
  } finally {
    await database.close()
  }
}

export function browserWith(url: string, cookie: string): Browser {
  return {
    get: path => fetch(`${url}${path}`, { headers: { cookie, accept: 'text/html,*/*' }, redirect: 'manual' }),
    post(path, fields, headers = {}) {
      const body = new FormData()
      for (const [name, value] of Object.entries(fields)) body.append(name, value)
      return fetch(`${url}${path}`, {
        method: 'POST',
        headers: { cookie, origin: url, 'sec-fetch-site': 'same-origin', ...headers },
        body,
        redirect: 'manual',
      })
    },
  }
}
