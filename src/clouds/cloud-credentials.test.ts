/** Credentials of each kind by the clouds' libraries, from real servers on this machine; and what is told without one. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync, createVerify } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localhostOnly } from '../../tests/support/network/certificates.ts'
import { applicationCertificate, instanceRole, startCloudServers } from '../../tests/support/network/cloud-servers.ts'
import type { Asked, CloudServers } from '../../tests/support/network/cloud-servers.ts'
import type { AwsIdentity, AwsSource, AzureProof, CloudIdentity } from '../core/cloud-identity.ts'
import type { Deployment } from '../core/deployment.ts'
import type { ProxyRules, Transport } from '../core/transport.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { systemClock } from '../lib/clock.ts'
import { Secret } from '../lib/secret.ts'
import { CloudCredentials } from './cloud-credentials.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-clouds-'))
const transport = createHttp1Transport({ ca: localhostOnly.cert })
const variables = [
  ...['AWS_EC2_METADATA_SERVICE_ENDPOINT', 'AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_ENDPOINT_URL'],
  ...['AZURE_POD_IDENTITY_AUTHORITY_HOST', 'HOME'],
]
const before = variables.map(name => [name, process.env[name]] as const)
let clouds: CloudServers
let credentials: CloudCredentials

beforeAll(async () => {
  clouds = await startCloudServers()
  // The libraries read these themselves.
  process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = clouds.url
  process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST = clouds.url
  process.env.AWS_CONFIG_FILE = join(folder, 'config')
  process.env.AWS_SHARED_CREDENTIALS_FILE = join(folder, 'credentials')
  process.env.AWS_ENDPOINT_URL = clouds.url
  process.env.HOME = folder
})
afterAll(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  await clouds.stop()
  transport.close()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  clouds.lie = undefined
  clouds.asked.length = 0
})

const fresh = () => (credentials = new CloudCredentials({ transport, clock: systemClock, renewalFailed() {} }))
const deployment = (proxies?: ProxyRules) =>
  ({ target: {}, modelName: 'fast', id: 'd1', proxies }) as unknown as Deployment
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** Of a new process, as it were. */
const got = (identity: CloudIdentity, proxies?: ProxyRules) =>
  Promise.resolve(fresh().of(deployment(proxies), identity))
const refusal = (identity: CloudIdentity) =>
  got(identity).then(
    found => `got ${JSON.stringify(found)}`,
    (error: Error) => error.message,
  )

const aws = (source: AwsSource, more: Partial<AwsIdentity> = {}): AwsIdentity => ({
  cloud: 'aws',
  region: 'eu-west-1',
  stsUrl: clouds.url,
  source,
  ...more,
})
const keys = { kind: 'keys', accessKeyId: 'ASIA', secretAccessKey: 'aws-canary', sessionToken: 'session' } as const
const roleArn = 'arn:aws:iam::123456789012:role/models'
const role = { arn: roleArn, sessionName: 'modelgate' }

describe('AWS', () => {
  const machine = () => aws({ kind: 'machine' })

  test('the role of an EC2 instance, by a session of IMDSv2', async () => {
    expect(await got(machine())).toEqual(keys)
    const roles = '/latest/meta-data/iam/security-credentials/'
    expect(clouds.paths()).toEqual(['PUT /latest/api/token', `GET ${roles}`, `GET ${roles}${instanceRole}`])
  })

  test('the role of an ECS task, with its token as it stands in the file at each request', async () => {
    const tokenFile = file('task-token', 'first')
    const source = { kind: 'container', url: { full: `${clouds.url}/v2/credentials/task` }, tokenFile } as const
    expect(await got(aws(source))).toEqual(keys)
    file('task-token', 'second')
    expect(await got(aws(source))).toEqual(keys)
    expect(clouds.asked.map(({ headers }) => headers.get('authorization'))).toEqual(['first', 'second'])
    expect(await got(aws({ ...source, tokenFile: undefined, token: new Secret('given') }))).toEqual(keys)
    expect(clouds.asked.at(-1)!.headers.get('authorization')).toBe('given')
  })

  test('the web identity of a pod of EKS, alone and for another role', async () => {
    const tokenFile = file('pod-token', 'identity-of-the-pod')
    const pod = { arn: 'arn:aws:iam::123456789012:role/pod', sessionName: 'mine' }
    const source = { kind: 'web-identity', tokenFile, role: pod } as const
    expect(await got(aws(source))).toEqual(keys)
    expect(Object.fromEntries(clouds.asked[0]!.form)).toMatchObject({
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: pod.arn,
      RoleSessionName: 'mine',
      WebIdentityToken: 'identity-of-the-pod',
    })
    expect(await got(aws(source, { role }))).toEqual(keys)
    expect(clouds.asked.slice(1).map(({ form }) => form.get('Action'))).toEqual([
      'AssumeRoleWithWebIdentity',
      'AssumeRole',
    ])
  })

  test('a role that keys take on, signed by them, with their session token and its external id', async () => {
    const source = {
      kind: 'keys',
      accessKeyId: 'AKIA1',
      secretAccessKey: new Secret('own-canary'),
      sessionToken: new Secret('own-session'),
    } as const
    expect(await got(aws(source, { role: { ...role, externalId: 'e' } }))).toEqual(keys)
    const [{ form, headers }] = clouds.asked as [Asked]
    expect(Object.fromEntries(form)).toMatchObject({ Action: 'AssumeRole', RoleArn: roleArn, ExternalId: 'e' })
    expect(headers.get('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIA1\/\d{8}\/eu-west-1\/sts\/aws4_request/,
    )
    expect(headers.get('x-amz-security-token')).toBe('own-session')
  })

  test('profiles: keys, a role of another profile, one whose source is the instance, and SSO', async () => {
    const start = 'https://sso.example/start'
    file('credentials', '[base]\naws_access_key_id = AKIABASE\naws_secret_access_key = base-canary\n')
    file(
      'config',
      `[profile role]\nrole_arn = ${roleArn}\nsource_profile = base\n` +
        `[profile instance]\nrole_arn = ${roleArn}\ncredential_source = Ec2InstanceMetadata\n` +
        `[profile sso]\nsso_start_url = ${start}\nsso_region = eu-central-1\nsso_account_id = 1\nsso_role_name = r\n`,
    )
    const cache = join(folder, '.aws/sso/cache')
    await Bun.write(
      join(cache, `${new Bun.CryptoHasher('sha1').update(start).digest('hex')}.json`),
      JSON.stringify({ accessToken: 'sso-canary', expiresAt: new Date(Date.now() + 3_600_000).toISOString() }),
    )
    const profile = (name: string) => got(aws({ kind: 'profile', name }))
    expect(await profile('base')).toMatchObject({ accessKeyId: 'AKIABASE', secretAccessKey: 'base-canary' })
    expect(await profile('role')).toEqual(keys)
    expect(clouds.asked[0]!.headers.get('authorization')).toContain('Credential=AKIABASE/')
    expect(await profile('instance')).toEqual(keys)
    expect(await profile('sso')).toEqual({ ...keys, sessionToken: 's' })
    expect(clouds.asked.at(-1)!.headers.get('x-amz-sso_bearer_token')).toBe('sso-canary')
    expect(await refusal(aws({ kind: 'profile', name: 'none' }))).toContain("AWS's profile none: ")
    file('credentials', '')
    file('config', '')
  })

  test('a metadata service that is wrong, refuses or is away is told with the deployment and the remedy', async () => {
    const told = async (lie: CloudServers['lie']) => {
      clouds.lie = lie
      return refusal(machine())
    }
    const start = 'the deployment fast (d1) got no credentials from the metadata service of EC2: '
    const messages = [
      await told(() => new Response('no', { status: 403 })),
      await told(({ path }) => (path.endsWith(instanceRole) ? Response.json({ Code: 'Failed' }) : undefined)),
      await told(({ path }) => (path.endsWith('/') ? new Response('', { status: 404 }) : undefined)),
    ]
    expect(messages).toEqual([
      expect.stringContaining(`${start}it gave no session token (IMDSv2); give the instance a role`),
      expect.stringContaining(`${start}Invalid response received from instance metadata service; give`),
      expect.stringContaining(start),
    ])
    process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = 'http://127.0.0.1:1'
    expect(await refusal(machine())).toContain(start)
    process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = clouds.url
  })

  test('a refusal of STS and a missing file of a token are told; no message holds a secret', async () => {
    const source = { kind: 'keys', accessKeyId: 'AKIA1', secretAccessKey: new Secret('own-canary') } as const
    clouds.lie = () =>
      new Response(
        '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>' +
          '<Message>not authorized with own-canary</Message></Error></ErrorResponse>',
        { status: 403, headers: { 'content-type': 'text/xml' } },
      )
    expect(await refusal(aws(source, { role }))).toBe(
      `the deployment fast (d1) got no credentials from AWS STS (for the role ${roleArn}): not authorized with ` +
        '[redacted]; check `aws_role_name`, and that the keys may take it on',
    )
    const none = aws({ kind: 'web-identity', tokenFile: join(folder, 'none'), role })
    expect(await refusal(none)).toContain('check the file of the token and the trust policy of the role')
  })
})

describe('Google', () => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = () => ({
    type: 'service_account',
    client_email: 'me@x.iam.gserviceaccount.com',
    private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${clouds.url}/google/token`,
  })
  const impersonation = () => `${clouds.url}/v1/projects/-/serviceAccounts/a@b.example:generateAccessToken`
  const federation = (source: object, more: object = {}) => ({
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${clouds.url}/google/sts`,
    credential_source: source,
    ...more,
  })
  const google = (json: object): CloudIdentity => ({
    cloud: 'google',
    source: 'text',
    credentials: new Secret(JSON.stringify(json)),
  })
  const machine = (host = new URL(clouds.url).host): CloudIdentity => ({
    cloud: 'google',
    source: 'host',
    metadataHost: host,
  })
  const token = (text: string) => ({ kind: 'token' as const, token: text })

  test('a service account signs for itself; its quota project goes along', async () => {
    expect(await got(google({ ...account(), quota_project_id: 'q' }))).toEqual({
      ...token('token-of-account'),
      quotaProject: 'q',
    })
    const [head, claims, signature] = clouds.asked[0]!.form.get('assertion')!.split('.')
    expect(JSON.parse(Buffer.from(claims!, 'base64url').toString())).toMatchObject({
      iss: 'me@x.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: 'https://oauth2.googleapis.com/token',
    })
    const verified = createVerify('RSA-SHA256').update(`${head}.${claims}`)
    expect(verified.verify(pair.publicKey, signature!, 'base64url')).toBe(true)
  })

  test('a user, the machine, and federation by a file and by an address', async () => {
    const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' }
    expect(await got(google({ ...user, token_uri: account().token_uri }))).toEqual(token('token-of-user'))
    expect(await got(machine())).toEqual(token('token-of-machine'))
    const subject = file('subject', 'identity-of-the-pod')
    expect(await got(google(federation({ file: subject })))).toEqual(token('token-of-federation'))
    expect(clouds.asked.at(-1)!.form.get('subject_token')).toBe('identity-of-the-pod')
    clouds.lie = ({ path }) => (path === '/subject' ? Response.json({ value: 'by-address' }) : undefined)
    const format = { type: 'json', subject_token_field_name: 'value' }
    const byAddress = federation({ url: `${clouds.url}/subject`, headers: { 'x-a': '1' }, format })
    expect(await got(google(byAddress))).toEqual(token('token-of-federation'))
    expect(clouds.asked.at(-1)!.form.get('subject_token')).toBe('by-address')
  })

  test('federation from AWS: the role of an EC2 instance signs what Google asks STS', async () => {
    const roles = `${clouds.url}/latest/meta-data/iam/security-credentials`
    clouds.lie = ({ path }) => (path.endsWith('security-credentials') ? new Response(instanceRole) : undefined)
    const source = {
      environment_id: 'aws1',
      region_url: `${clouds.url}/latest/meta-data/placement/availability-zone`,
      url: roles,
      imdsv2_session_token_url: `${clouds.url}/latest/api/token`,
      regional_cred_verification_url: 'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
    }
    const { lie } = clouds
    clouds.lie = asked => (asked.path.endsWith('availability-zone') ? new Response('eu-west-1b') : lie(asked))
    const aws4 = { subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request' }
    expect(await got(google(federation(source, aws4)))).toEqual(token('token-of-federation'))
    expect(decodeURIComponent(clouds.asked.at(-1)!.form.get('subject_token')!)).toContain('Credential=ASIA/')
  })

  test('impersonation by a service account and after a federation', async () => {
    const byAccount = {
      type: 'impersonated_service_account',
      source_credentials: account(),
      service_account_impersonation_url: impersonation(),
      delegates: ['projects/-/serviceAccounts/middle@b.example'],
    }
    expect(await got(google(byAccount))).toEqual(token('impersonated-by-token-of-account'))
    expect(JSON.parse(clouds.asked.at(-1)!.body)).toMatchObject({ delegates: byAccount.delegates })
    const more = { service_account_impersonation_url: impersonation() }
    expect(await got(google(federation({ file: file('subject', 'pod') }, more)))).toEqual(
      token('impersonated-by-token-of-federation'),
    )
  })

  test('wrong and absent answers', async () => {
    clouds.lie = () => Response.json({ error: 'invalid_grant', error_description: 'Invalid JWT' }, { status: 400 })
    expect(await refusal(google(account()))).toBe(
      'the deployment fast (d1) got no credentials from Google: invalid_grant: Invalid JWT; check ' +
        '`vertex_credentials` and what its account may do',
    )
    clouds.lie = () => Response.json({ expires_in: 10 })
    const remedy = 'run on Google Cloud with a service account, or give `vertex_credentials`'
    const start = "got no credentials from Google's metadata server: "
    expect(await refusal(machine())).toEndWith(
      `${start}the answer has no \`access_token\` with its \`expires_in\`; ${remedy}`,
    )
    expect(await refusal(machine('127.0.0.1:1'))).toEndWith(
      `${start}the upstream cannot be reached: it refused the connection; ${remedy}`,
    )
  })
})

describe('Azure', () => {
  const azure = (proof: AzureProof): CloudIdentity => ({
    cloud: 'azure',
    authority: clouds.secureUrl,
    scope: 'https://cognitiveservices.azure.com/.default',
    proof,
  })
  const application = { tenant: 'tenant-1', client: 'client-1' }
  const secret = (value: string) => azure({ kind: 'client-secret', ...application, secret: new Secret(value) })
  const token = (text: string) => ({ kind: 'token' as const, token: text })

  test('a client secret', async () => {
    expect(await got(secret('entra-canary'))).toEqual(token('entra-by-secret'))
    const { path, form } = clouds.asked.at(-1)!
    expect([path, form.get('client_id'), form.get('client_secret'), form.get('scope')]).toEqual([
      expect.stringContaining('/tenant-1/oauth2/v2.0/token'),
      'client-1',
      'entra-canary',
      'https://cognitiveservices.azure.com/.default',
    ])
  })

  test('a certificate with an encrypted key, and the federated token of a pod of AKS', async () => {
    const path = file('certificate.pem', applicationCertificate)
    const certificate = { kind: 'certificate', ...application, path } as const
    expect(await got(azure({ ...certificate, password: new Secret('canary-password') }))).toEqual(
      token('entra-by-assertion'),
    )
    expect(await refusal(azure({ ...certificate, password: new Secret('wrong') }))).toContain(
      'check `tenant_id`, `client_id` and the file `azure_certificate_path`',
    )
    const tokenFile = file('aks-token', 'identity-of-the-pod')
    expect(await got(azure({ kind: 'workload', ...application, tokenFile }))).toEqual(token('entra-by-assertion'))
    expect(clouds.asked.at(-1)!.form.get('client_assertion')).toBe('identity-of-the-pod')
  })

  test('the managed identity of the system, and one that is assigned by users', async () => {
    expect(await got(azure({ kind: 'managed-identity' }))).toEqual(token('token-of-system'))
    expect(await got(azure({ kind: 'managed-identity', client: 'mine' }))).toEqual(token('token-of-mine'))
  })

  test('refusals are told without the secret', async () => {
    clouds.lie = ({ form }) =>
      form.has('client_secret')
        ? Response.json({ error: 'invalid_client', error_description: 'AADSTS7000215: bad-canary' }, { status: 401 })
        : undefined
    const message = await refusal(secret('bad-canary'))
    expect(message).toContain('the deployment fast (d1) got no credentials from Entra ID: ')
    expect(message).toContain('AADSTS7000215')
    expect(message).not.toContain('bad-canary')
    clouds.lie = () =>
      Response.json({ error: 'invalid_request', error_description: 'Identity not found' }, { status: 400 })
    expect(await refusal(azure({ kind: 'managed-identity', client: 'other' }))).toContain(
      'run on Azure with a managed identity',
    )
  })
})

test('deployments with equal identities share one credential, those with another secret have their own', async () => {
  const account = (secret: string): CloudIdentity =>
    aws({ kind: 'keys', accessKeyId: 'A', secretAccessKey: new Secret(secret) }, { role })
  fresh()
  const asking = (identity: CloudIdentity) => credentials.of(deployment(), identity)
  await Promise.all([asking(account('s')), asking(account('s')), asking(account('s')), asking(account('other'))])
  await asking(account('s'))
  expect(clouds.asked.length).toBe(2)
})

test('requests for credentials go through the proxy of their deployment, as calls do', async () => {
  const seen: string[] = []
  const proxies = {
    proxyFor(url: URL) {
      seen.push(url.pathname)
      return undefined
    },
  }
  const keysWithRole = aws({ kind: 'keys', accessKeyId: 'A', secretAccessKey: new Secret('s') }, { role })
  await got(keysWithRole, proxies)
  await got({ cloud: 'google', source: 'host', metadataHost: new URL(clouds.url).host }, proxies)
  expect(seen).toEqual(['/', '/computeMetadata/v1/instance/service-accounts/default/token'])
})

test('a service that does not answer is given up', async () => {
  const answer = Promise.withResolvers<Response>()
  clouds.lie = () => answer.promise
  const impatient: Transport = {
    ...transport,
    send: request => transport.send({ ...request, timeouts: { ...request.timeouts, firstByteMs: 100 } }),
  }
  const asking = new CloudCredentials({ transport: impatient, clock: systemClock, renewalFailed() {} })
  const machine = { cloud: 'google', source: 'host', metadataHost: new URL(clouds.url).host } as const
  const message = await Promise.resolve(asking.of(deployment(), machine)).catch((error: Error) => error.message)
  answer.resolve(new Response())
  expect(message).toMatch(/metadata server: .*100 ms|metadata server: .*0\.1 s/)
})
