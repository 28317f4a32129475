/** Whole calls with the gateway's own identity in a cloud: servers that play the clouds, and the simulator behind them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { awsKeys } from '../../simulator/index.ts'
import { startCloudServers } from '../support/network/cloud-servers.ts'
import type { CloudServers } from '../support/network/cloud-servers.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

const folder = mkdtempSync(join(tmpdir(), 'modelgate-clouds-'))
const variables = [
  'AWS_EC2_METADATA_SERVICE_ENDPOINT',
  'AZURE_POD_IDENTITY_AUTHORITY_HOST',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
]
const before = variables.map(name => [name, process.env[name]] as const)
let clouds: CloudServers
let gateway: Gateway
/** What the upstream was sent as `authorization`, for dialects that the simulator takes every token in. */
const seen: string[] = []
let upstream: ReturnType<typeof Bun.serve>

const impersonation = (host: string) => ({
  type: 'impersonated_service_account',
  service_account_impersonation_url: `${host}/v1/projects/-/serviceAccounts/a@b.example:generateAccessToken`,
  source_credentials: {
    type: 'authorized_user',
    client_id: 'c',
    client_secret: 's',
    refresh_token: 'r',
    token_uri: `${host}/google/token`,
  },
})

const federation = (host: string) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${host}/google/sts`,
  credential_source: { file: join(folder, 'subject') },
})

const config = (host: string, recorder: string) => `
model_list:
  - model_name: instance
    proxy_params: { model: bedrock/amazon.nova-pro-v1:0, api_base: "{simulator}", aws_region_name: us-east-1 }
  - model_name: instance
    proxy_params: { model: bedrock/amazon.nova-lite-v1:0, api_base: "{simulator}", aws_region_name: us-east-1 }
  - model_name: assumed
    proxy_params: { model: bedrock/amazon.nova-pro-v1:0, api_base: "{simulator}", aws_region_name: us-east-1, aws_sts_endpoint: "${host}", aws_role_name: "arn:aws:iam::123456789012:role/models" }
  - model_name: machine
    proxy_params: { model: vertex_ai/gemini-2.5-pro, api_base: "${recorder}", vertex_project: p }
  - model_name: impersonated
    proxy_params: { model: vertex_ai/gemini-2.5-pro, api_base: "${recorder}", vertex_project: p, vertex_credentials: ${JSON.stringify(impersonation(host))} }
  - model_name: federated
    proxy_params: { model: vertex_ai/gemini-2.5-pro, api_base: "${recorder}", vertex_project: p, vertex_credentials: ${JSON.stringify(federation(host))} }
  - model_name: managed
    proxy_params: { model: azure/gpt-4o, api_base: "${recorder}", azure_credential: ManagedIdentityCredential, client_id: mine }
general_settings: { secret_file_directories: ["${folder}"] }
`

beforeAll(async () => {
  clouds = await startCloudServers()
  clouds.awsKeys = awsKeys
  writeFileSync(join(folder, 'subject'), 'identity-of-the-pod')
  // The libraries read these themselves.
  process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = clouds.url
  process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST = clouds.url
  process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = join(folder, 'none')
  let simulator = ''
  upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      seen.push(request.headers.get('authorization') ?? '')
      const { pathname, search } = new URL(request.url)
      return fetch(`${simulator}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body: await request.text(),
      })
    },
  })
  const recorder = `http://127.0.0.1:${upstream.port}`
  const environment = { GCE_METADATA_HOST: new URL(clouds.url).host, HOME: folder }
  gateway = await startGateway({ config: config(clouds.url, recorder), environment })
  simulator = gateway.simulator.url.replace(/\/$/, '')
})
afterAll(async () => {
  await gateway.stop()
  await clouds.stop()
  await upstream.stop(true)
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  rmSync(folder, { recursive: true })
})

async function chat(model: string): Promise<{ status: number; body: Json }> {
  const key = await gateway.key()
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  return { status: answer.status, body: (await answer.json()) as Json }
}

test('Bedrock is signed by the role of the instance, whose credentials deployments share', async () => {
  for (let call = 0; call < 6; call++) expect((await chat('instance')).status).toBe(200)
  expect(clouds.paths().filter(path => path.startsWith('PUT'))).toEqual(['PUT /latest/api/token'])
})

test('the role of the instance takes on another one, which signs', async () => {
  expect((await chat('assumed')).status).toBe(200)
  expect(clouds.asked.at(-1)!.form.get('RoleArn')).toBe('arn:aws:iam::123456789012:role/models')
})

test("tokens of Google's metadata server, of an impersonation and of a federation, and of a managed identity", async () => {
  seen.length = 0
  for (const model of ['machine', 'impersonated', 'federated', 'managed']) {
    const { status, body } = await chat(model)
    expect([model, status, body]).toEqual([model, 200, body])
  }
  expect(seen).toEqual([
    'Bearer token-of-machine',
    'Bearer impersonated-by-token-of-user',
    'Bearer token-of-federation',
    'Bearer token-of-mine',
  ])
})

test('what no cloud answers is told to the client with the deployment and the remedy', async () => {
  const made = await gateway.admin('/model/new', {
    model_name: 'broken',
    litellm_params: {
      model: 'vertex_ai/gemini-2.5-pro',
      vertex_project: 'p',
      vertex_credentials: { ...impersonation('http://127.0.0.1:1').source_credentials },
    },
  })
  expect(made.status).toBe(200)
  const { status, body } = await chat('broken')
  const { message } = body.error as { message: string }
  expect([status, message]).toEqual([503, expect.stringContaining('the deployment broken (')])
  expect(message).toContain('got no credentials from Google: ')
  expect(message).toContain('cannot be reached: it refused the connection; check `vertex_credentials`')
})

const byApi: readonly (readonly [params: Json, words: string])[] = [
  [{ model: 'bedrock/amazon.nova-pro-v1:0', aws_region_name: 'us-east-1' }, 'add aws to'],
  [{ model: 'bedrock/amazon.nova-pro-v1:0', aws_region_name: 'us-east-1', aws_profile_name: 'p' }, 'add aws to'],
  [{ model: 'vertex_ai/gemini-2.5-pro', vertex_project: 'p' }, 'add google to'],
  [{ model: 'azure/x', api_base: 'https://x.example', azure_credential: 'ManagedIdentityCredential' }, 'add azure to'],
  [{ model: 'azure/x', api_base: 'https://x.example', azure_certificate_path: '/etc/passwd' }, 'by API'],
]

test('models made by API use the identities of the host only where the operator released them', async () => {
  const make = (params: Json) => gateway.admin('/model/new', { model_name: 'by-api', litellm_params: params })
  for (const [params, words] of byApi) {
    const answer = await make(params)
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining(words)])
  }
  const vertex = (host: string, source: Json) => ({
    model: 'vertex_ai/gemini-2.5-pro',
    vertex_project: 'p',
    vertex_credentials: { ...federation(host), credential_source: source },
  })
  const own = await make(vertex(clouds.url, { file: '/etc/passwd' }))
  expect([own.status, await own.text()]).toEqual([422, expect.stringContaining('add google to')])
})

test('where they are released, files of other folders, addresses and programs stay refused', async () => {
  const settings = `\ngeneral_settings: { host_credentials_by_api: [aws, google], secret_file_directories: ["${folder}"] }\n`
  const open = await startGateway({ config: `model_list: []${settings}`, environment: { HOME: folder } })
  const make = async (params: Json) => {
    const answer = await open.admin('/model/new', { model_name: 'by-api', litellm_params: params })
    return `${answer.status} ${await answer.text()}`
  }
  const google = (source: Json) =>
    make({
      model: 'vertex_ai/gemini-2.5-pro',
      vertex_project: 'p',
      vertex_credentials: JSON.stringify({ ...federation(clouds.url), credential_source: source }),
    })
  try {
    expect(await make(byApi[0]![0])).toStartWith('200')
    expect(await make(byApi[2]![0])).toStartWith('200')
    expect(await make(byApi[3]![0])).toContain('add azure to')
    expect(await google({ file: join(folder, 'subject') })).toStartWith('200')
    expect(await google({ file: '/etc/passwd' })).toContain('secret_file_directories')
    expect(await google({ file: join(folder, 'subject'), executable: { command: 'x' } })).toContain('run programs')
    expect(await google({ url: 'http://169.254.169.254/' })).toContain('read addresses')
  } finally {
    await open.stop()
  }
})
