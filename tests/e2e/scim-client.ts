/** Asks a gateway for SCIM as a directory does: with a token of its own. */
import type { Gateway } from './harness.ts'

export type Json = Record<string, unknown>

export interface Heard {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

export interface ScimClient {
  readonly token: string
  ask(method: string, path: string, body?: Json, headers?: Readonly<Record<string, string>>): Promise<Heard>
  /** Throws unless the answer is a success. */
  done(method: string, path: string, body?: Json): Promise<Json>
  /** The ids of what a filter finds. */
  find(path: string, filter: string): Promise<unknown[]>
}

export async function scimClient(gateway: Pick<Gateway, 'url' | 'admin'>): Promise<ScimClient> {
  const { token } = (await (await gateway.admin('/scim/tokens', { key_alias: 'test' })).json()) as { token: string }
  const ask: ScimClient['ask'] = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${gateway.url}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as Json) }
  }
  const done: ScimClient['done'] = async (method, path, body) => {
    const { status, body: heard } = await ask(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(heard)}`)
    return heard
  }
  return {
    token,
    ask,
    done,
    async find(path, filter) {
      const { Resources } = await done('GET', `${path}?filter=${encodeURIComponent(filter)}`)
      return (Resources as Json[]).map(one => one.id)
    },
  }
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

export const patchOf = (...Operations: Json[]): Json => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
