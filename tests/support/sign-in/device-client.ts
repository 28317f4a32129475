/** A program that signs in by the device flow, request by request. */

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly email?: string
  readonly user_id: string
  readonly team_id: string | null
}

export interface Asked {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

export const post = (
  url: string,
  path: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form), headers })

export async function askDevice(url: string, userAgent = 'a-program/1.0'): Promise<Asked> {
  const answer = await post(url, '/oauth/device_authorization', {}, { 'user-agent': userAgent })
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Asked
}

export const redeem = (url: string, deviceCode: string): Promise<Response> =>
  post(url, '/oauth/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
  })

export const refresh = (url: string, refreshToken: string): Promise<Response> =>
  post(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken })

interface Approving {
  post(path: string, fields: Readonly<Record<string, string>>): Promise<Response>
}

/** The whole flow; `browser` is the person's. */
export async function signInDevice(
  url: string,
  browser: Approving,
  fields: Readonly<Record<string, string>> = {},
): Promise<Tokens> {
  const asked = await askDevice(url)
  const decided = await browser.post('/device', { user_code: asked.user_code, decision: 'approve', ...fields })
  if (decided.status !== 200) throw new Error(await decided.text())
  const answer = await redeem(url, asked.device_code)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Tokens
}
