/** Which identity at Entra ID a configuration means. */
import { expect, test } from 'bun:test'
import { Secret } from '../../lib/secret.ts'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'

function read(params: string, environment: Record<string, string> = {}, host = 'my.openai.azure.com') {
  const text = `model_list:\n  - model_name: m\n    proxy_params: { model: azure/gpt, api_base: "https://${host}"${params} }\n`
  const { settings, mistakes } = readSettings({ text, file: 'c.yaml', environment, providers })
  return { deployment: settings?.deployments[0], mistakes: mistakes.join() }
}

function identity(params: string, environment: Record<string, string> = {}, host?: string) {
  const { deployment, mistakes } = read(params, environment, host)
  expect(mistakes).toBe('')
  return deployment!.target.identity
}

const application = ', tenant_id: t, client_id: c'
const ofHost = { AZURE_TENANT_ID: 'ht', AZURE_CLIENT_ID: 'hc' }
const tokenFile = '/var/run/secrets/azure/token'

test('a client secret, with the services of the cloud that the address is in', () => {
  const named = `${application}, client_secret: canary`
  expect(identity(named)).toEqual({
    cloud: 'azure',
    authority: 'https://login.microsoftonline.com',
    scope: 'https://cognitiveservices.azure.com/.default',
    proof: { kind: 'client-secret', tenant: 't', client: 'c', secret: new Secret('canary') },
  })
  expect(identity(named, {}, 'my.openai.azure.us')).toMatchObject({
    authority: 'https://login.microsoftonline.us',
    scope: 'https://cognitiveservices.azure.us/.default',
  })
  expect(identity(named, {}, 'my.openai.azure.cn')).toMatchObject({ authority: 'https://login.chinacloudapi.cn' })
  expect(
    identity(`${named}, azure_scope: api://x/.default`, { AZURE_AUTHORITY_HOST: 'https://login.example/' }),
  ).toMatchObject({ authority: 'https://login.example', scope: 'api://x/.default' })
})

test('each way to prove it, by the entry and by the environment', () => {
  const proof = (params: string, environment: Record<string, string> = {}) => {
    const found = identity(params, environment)
    return found?.cloud === 'azure' ? found.proof : undefined
  }
  expect([
    proof(', azure_credential: ManagedIdentityCredential'),
    proof(', azure_credential: ManagedIdentityCredential, client_id: c'),
    proof(`${application}, azure_certificate_path: /c.pem, azure_certificate_password: p`),
    proof(`${application}, azure_federated_token_file: ${tokenFile}`),
    proof('', { ...ofHost, AZURE_FEDERATED_TOKEN_FILE: tokenFile }),
    proof('', { ...ofHost, AZURE_CERTIFICATE_PATH: '/h.pem' }),
    proof('', { ...ofHost, AZURE_CLIENT_SECRET: 's' }),
    proof('', { AZURE_CREDENTIAL: 'DefaultAzureCredential' }),
    proof('', { AZURE_CREDENTIAL: 'ManagedIdentityCredential', AZURE_CLIENT_ID: 'hc' }),
    proof(', client_id: own', { ...ofHost, AZURE_FEDERATED_TOKEN_FILE: tokenFile }),
  ]).toEqual([
    { kind: 'managed-identity', client: undefined },
    { kind: 'managed-identity', client: 'c' },
    { kind: 'certificate', tenant: 't', client: 'c', path: '/c.pem', password: new Secret('p') },
    { kind: 'workload', tenant: 't', client: 'c', tokenFile },
    { kind: 'workload', tenant: 'ht', client: 'hc', tokenFile },
    { kind: 'certificate', tenant: 'ht', client: 'hc', path: '/h.pem', password: undefined },
    { kind: 'client-secret', tenant: 'ht', client: 'hc', secret: new Secret('s') },
    { kind: 'managed-identity', client: undefined },
    { kind: 'managed-identity', client: 'hc' },
    { kind: 'workload', tenant: 'ht', client: 'own', tokenFile },
  ])
})

test('a key counts before the environment, and after what the entry names', () => {
  const host = { ...ofHost, AZURE_CLIENT_SECRET: 's' }
  expect(identity(', api_key: k', host)).toBeUndefined()
  expect(identity(', azure_ad_token: t', host)).toBeUndefined()
  expect(identity('', { ...host, AZURE_API_KEY: 'k' })).toBeUndefined()
  expect(identity(', azure_credential: ManagedIdentityCredential', { AZURE_API_KEY: 'k' })).toBeDefined()
  expect(identity('', { AZURE_TENANT_ID: 't' })).toBeUndefined()
})

test.each([
  [', azure_credential: CertificateCredential', {}, 'needs `tenant_id`, `client_id`, `azure_certificate_path`'],
  [', azure_certificate_path: c.pem', {}, 'must be an absolute path'],
  [`, tenant_id: t, azure_federated_token_file: ${tokenFile}`, {}, 'needs `client_id`'],
  [', azure_credential: AzureCliCredential', {}, 'azure_credential'],
  ['', { AZURE_CREDENTIAL: 'AzureCliCredential' }, 'AZURE_CREDENTIAL must be one of'],
] as [string, Record<string, string>, string][])('%s is a mistake', (params, environment, words) => {
  expect(read(params, environment).mistakes).toContain(words)
})

test('the configuration keeps the secret out of sight and out of the id', () => {
  const [one, other] = ['first', 'second'].map(secret => read(`${application}, client_secret: ${secret}`).deployment!)
  expect(one!.id).toBe(other!.id)
  expect(JSON.stringify(one!.target.identity)).not.toContain('first')
})
