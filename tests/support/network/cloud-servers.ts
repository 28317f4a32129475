/**
 * The servers that the clouds' libraries ask, on this machine: EC2's metadata service (IMDSv2), the agent of ECS, STS,
 * SSO, Google's STS, token service, impersonation and metadata server, Azure's metadata service and Entra ID. Sources:
 * docs.aws.amazon.com/sdkref, docs.aws.amazon.com/STS, cloud.google.com/iam/docs/reference/sts/rest,
 * cloud.google.com/compute/docs/metadata, learn.microsoft.com/entra/identity/managed-identities-azure-resources.
 */
import { localhostOnly } from './certificates.ts'

/** What a server was asked. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly form: URLSearchParams
  readonly body: string
}

export interface CloudServers {
  /** Over HTTP, as metadata services and agents are. */
  readonly url: string
  /** Over HTTPS with `localhostOnly`, as Entra ID has to be. */
  readonly secureUrl: string
  readonly asked: Asked[]
  /** The keys that AWS's services give. */
  awsKeys: { id: string; secret: string }
  /** Seconds that credentials are valid for. */
  lifetimeS: number
  /** Answers in the place of the right one; undefined = the right one. */
  lie: ((asked: Asked) => Response | Promise<Response> | undefined) | undefined
  paths(): string[]
  stop(): Promise<void>
}

/** Asks for the role of AWS that the answer's access key names. */
export const instanceRole = 'models-of-the-instance'

export async function startCloudServers(): Promise<CloudServers> {
  const servers: CloudServers = {
    url: '',
    secureUrl: '',
    asked: [],
    awsKeys: { id: 'ASIA', secret: 'aws-canary' },
    lifetimeS: 3600,
    lie: undefined,
    paths: () => servers.asked.map(({ method, path }) => `${method} ${path}`),
    async stop() {
      await Promise.all([plain.stop(true), secure.stop(true)])
    },
  }
  const fetch = async (request: Request): Promise<Response> => {
    const body = await request.text()
    const { pathname, search } = new URL(request.url)
    const path = `${pathname}${search}`
    const asked = { method: request.method, path, headers: request.headers, body, form: new URLSearchParams(body) }
    servers.asked.push(asked)
    return (await servers.lie?.(asked)) ?? answerOf(asked, servers)
  }
  const plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
  const secure = Bun.serve({ port: 0, tls: localhostOnly, fetch })
  return Object.assign(servers, {
    url: `http://127.0.0.1:${plain.port}`,
    secureUrl: `https://localhost:${secure.port}`,
  })
}

function answerOf(asked: Asked, servers: CloudServers): Response {
  return (
    awsAnswer(asked, servers) ??
    googleAnswer(asked, servers) ??
    azureAnswer(asked, servers) ??
    new Response('not found', { status: 404 })
  )
}

const endOf = ({ lifetimeS }: CloudServers): string => new Date(Date.now() + lifetimeS * 1000).toISOString()

function awsAnswer({ method, path, headers, form }: Asked, servers: CloudServers): Response | undefined {
  const { id, secret } = servers.awsKeys
  const keys = { AccessKeyId: id, SecretAccessKey: secret, Token: 'session', Expiration: endOf(servers) }
  const roles = '/latest/meta-data/iam/security-credentials/'
  if (path === '/latest/api/token')
    return method === 'PUT' ? new Response('imds-session') : new Response('method', { status: 405 })
  if (path.startsWith(roles)) {
    if (headers.get('x-aws-ec2-metadata-token') !== 'imds-session') return new Response('no session', { status: 401 })
    return path === roles ? new Response(instanceRole) : Response.json({ Code: 'Success', ...keys })
  }
  if (path === '/v2/credentials/task') return Response.json(keys)
  if (path.startsWith('/federation/credentials')) {
    const times = { expiration: Date.parse(keys.Expiration) }
    return Response.json({ roleCredentials: { accessKeyId: id, secretAccessKey: secret, sessionToken: 's', ...times } })
  }
  const action = form.get('Action')
  if (action !== 'AssumeRole' && action !== 'AssumeRoleWithWebIdentity') return undefined
  const credentials =
    `<AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>` +
    `<SessionToken>session</SessionToken><Expiration>${keys.Expiration}</Expiration>`
  return new Response(
    `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result>` +
      `<Credentials>${credentials}</Credentials></${action}Result></${action}Response>`,
    { headers: { 'content-type': 'text/xml' } },
  )
}

function googleAnswer({ path, headers, form }: Asked, servers: CloudServers): Response | undefined {
  const { lifetimeS: expires_in } = servers
  const token = (access_token: string) => Response.json({ access_token, expires_in, token_type: 'Bearer' })
  if (path === '/google/token')
    return token(form.get('grant_type') === 'refresh_token' ? 'token-of-user' : 'token-of-account')
  if (path === '/google/sts') return token('token-of-federation')
  if (path.endsWith(':generateAccessToken'))
    return Response.json({
      accessToken: `impersonated-by-${headers.get('authorization')?.replace('Bearer ', '')}`,
      expireTime: endOf(servers),
    })
  if (!path.startsWith('/computeMetadata/v1/instance/service-accounts/default/token')) return undefined
  return headers.get('metadata-flavor') === 'Google'
    ? token('token-of-machine')
    : new Response('Missing Metadata-Flavor:Google header.', { status: 403 })
}

function azureAnswer({ path, headers, form }: Asked, servers: CloudServers): Response | undefined {
  const { lifetimeS, secureUrl } = servers
  const [, tenant] = /^\/([^/]+)\/v2\.0\/\.well-known\/openid-configuration/.exec(path) ?? []
  if (tenant !== undefined) {
    const issuer = `${secureUrl}/${tenant}`
    return Response.json({
      token_endpoint: `${issuer}/oauth2/v2.0/token`,
      authorization_endpoint: `${issuer}/oauth2/v2.0/authorize`,
      issuer: `${issuer}/v2.0`,
      jwks_uri: `${issuer}/discovery/v2.0/keys`,
    })
  }
  if (/^\/[^/]+\/oauth2\/v2\.0\/token/.test(path))
    return Response.json({
      token_type: 'Bearer',
      expires_in: lifetimeS,
      access_token: `entra-by-${form.has('client_assertion') ? 'assertion' : 'secret'}`,
    })
  if (!path.startsWith('/metadata/identity/oauth2/token')) return undefined
  if (headers.get('metadata') !== 'true') return new Response('no metadata header', { status: 400 })
  const client = new URLSearchParams(path.split('?')[1]).get('client_id')
  return Response.json({
    access_token: `token-of-${client ?? 'system'}`,
    expires_on: String(Math.floor(Date.now() / 1000) + lifetimeS),
    resource: 'https://cognitiveservices.azure.com',
    token_type: 'Bearer',
  })
}

/** A certificate of an application at Entra ID, whose key is encrypted with `canary-password`. */
export const applicationCertificate = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIHeFJC2xmum4CAggA
MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBAhwYK/x4UexWcQddkwt1d3BIIE
0CN3gT7EDPi05fEWXVOnmvE8nAZaELuBaW31VTN2f8nckOTBre1/qJ9yQN1YmfVF
6dCkG+5cYA8TVceru7iKtDDFyJeLftZceEEYllloLCeEb4lE7bkfS5u0ZJ6IT2/x
0K9T77imZ4gkww2Xha+9XwOrLX2cxpE033gNSGrBlZmRew6SS7avpyUeTZU1UfJ3
lsRssC3Ik8mxH3lc6lrRNDP8e6ktIh5l/M1IyYHNnt45Qz/xJHom1YPKyrrWlsX8
ChbdopCSkTCGlGMPSBoM91r3EfeMzkRqAeA5iU6khD6nHpQhaNizwdfelYGvdKcj
q6+jh9sYOlRTJ6TXdnHDpD+L0Gc5p5blETDn0ErXBbg1xMTANmVTBaHdfNfTIt2U
RT9/euCX5gxjXqeUjU7vfaRcfd5cTu+xyvh08PgDy0ldPr+pBQ3BLttZWPYmg+h6
mWUsgfE+pHHbtqxCG2XZyLTYgHHqIzijz8B6Ed1wfVufhf5R7I2W0seyQ0OBklmX
O4+0K+b+mf2BlehIsG8wjVwvYPCu+G3R85vP61CYMlMEaPCJ43WGvu84HUzmAhsj
s8k6H+CIr2Lu4zA8rWhJIXaowiDJU+ulET/8flOgQliMdBvdl1GwCjA5u4ysRQMe
nz3yePLNAz/bZClpMkH7QFE7YwlEZ5o0h3xHJAbizqIAmUFG9JQ/1E1Ao6LfMpkP
JIqbx9qo8VjROVMx4UPBj1R8wHeOKw/X9q3TATF5mJRsou6xwqOQ3uk8DJ30pKc8
kgUdmqsS7NDdF3vw8CKB/a742x09dcLFcTDjnYZmTTcSsbhmq+yWUF1nIPPS80Kb
SDPc1+0//ZH+jBBvzsbZS6lxLn3eMKNs1XaKHumPw5PipVBB2xeU6G2IZdF4UPfJ
UwjBMPZObKR157kacAuaIjbVssaVknWBdzQ4+d55+cufvQZG11PxF2pxE0vf52GJ
yKZc5HPDT6jvdBo1TryT4xm11TPFftwgvkNvW7k5PKXckKScyc8P5GHg5f8+GbWj
rxsgf/AqaBZ3Ldqv0uwmZ47PUC6Hy3xYzt912wf0d5JY9Bja3t+pq/IBblvqCAfP
CrRTKl07gN+XyEzmynnWWmtCj/ELeZanyH7eijsF7p0ODbfOqc1iKpy0zxRQHnIp
WEL7DmHESLgtryipPH0Zm1o79jn4B+H5+qhEJ4C7VOvY7peXN06e/UcMRDGw1BGl
+pYOJ1Rzm5rU7WgjO4NnBzIJ2UYhXjs41QCbjronA6MBneA48c2tNRLsBV4Qb3Sz
rgAikwz8sdk3guMH2KExUhXRdrkFAIYMW9OGvfbWI5SX+hcWIrjsqALOUO/CyZsx
kmoDXBoWF3moCjYxDxakPGMz7cbkcW66Kv4Gak1hpLDuGPbysqitUq0o1o9CwPwC
W0p5iGP0KadGQB4FAeJA8BnhB9tudPYmHZT1Mzp+XoI0GVFwumMpD2xCfKS/HVoC
DCDsu1HuLadxYUKKjSbJtrcM3kwbVL6FNWKW7w3RHDcCPJyqdLCmszdxMZZL5Uyx
J2z0SNOg2ib8NTxMPtQEn8xYf5TlIeCB50i3yE24/eFL9jCwxq04/L4O98HzUex1
txMH/Pm3GWkFTQi2teBqrszPgOrwrPAInR3rQih1TS4U
-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIDFTCCAf2gAwIBAgIUJqAHCCzcvTxRsPBWTyx05V3ZIaEwDQYJKoZIhvcNAQEL
BQAwGTEXMBUGA1UEAwwObW9kZWxnYXRlIHRlc3QwIBcNMjYxMTI5MDIwMTA0WhgP
MjEyNjExMDUwMjAxMDRaMBkxFzAVBgNVBAMMDm1vZGVsZ2F0ZSB0ZXN0MIIBIjAN
BgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyayco+CY9WR4vAT6ZwGJr24fRimG
H08GWMcK085NeBH8XNEepgidIGtAZrxIHdfaQQ3Q5/29VVtWNGqHZAEi+XwZo3xk
y9h6m7b63MkXo9aGKRR5TCPtJ+ejgohsnmszGiUDW46hwjpJ3xe5ij9O8Ojn8tnl
lLdSPfQtQpIFTlc97xjYsx9iyR3zxoxK0NnQnOyb2Q++w+tKHjCYd5xiOUmNTSaJ
fCKImtwe1pDEcxhFYyHxiXu85BJZHRBbdHAEGnWHXG32Yukd0esYkTfjJR+xipk5
InVHv8TAqaiuGhxwKLJzmTUBkMpfzPdNgAP9m4paecq9JwCpNgTO/OP4FwIDAQAB
o1MwUTAdBgNVHQ4EFgQURERqcpdTtVUADsPBhap31fFH3F0wHwYDVR0jBBgwFoAU
RERqcpdTtVUADsPBhap31fFH3F0wDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0B
AQsFAAOCAQEALtxUBZQ4VeTNNI1eafbwA5tYY0/UA0wi8KkTadGA/FTuz151hqGy
PJrZCZtkq+VMg9ElEgY72Ykjp4yXSiUZs1QFMwIwZeoHxHuZzBZgLLzxkRpZAOnZ
P1HswMuBg7dyRHqkzpG+IiSLXOTPk05jLaLVKB8uaTb/pojzlD+17Zy5BDL9CAwp
hFFJXOFh+sSu10+LC/C0aMPVd1QdH9z9rrLOkELqHNinJfDlKpDoKHmVWNM8IFJO
BipKqsaRxqnRShESV5tty4h6CntLqEooJSS30uQpa7eIq9OXjBZwlZXNhxvBRll6
NHh52JVQUffWgjWgKLEPa/OlCn0PPMIPPw==
-----END CERTIFICATE-----
`
