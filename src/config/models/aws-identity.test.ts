/** Which identity at AWS a configuration means. */
import { expect, test } from 'bun:test'
import { Secret } from '../../lib/secret.ts'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'

function read(params: string, environment: Record<string, string>) {
  const text = `model_list:\n  - model_name: m\n    litellm_params: { model: bedrock/amazon.nova-pro-v1:0${params} }\n`
  const { settings, mistakes } = readSettings({ text, file: 'c.yaml', environment, providers })
  return { target: settings?.deployments[0]?.target, mistakes: mistakes.join() }
}

function identity(params: string, environment: Record<string, string> = {}) {
  const { target, mistakes } = read(params, { AWS_REGION: 'eu-west-1', ...environment })
  expect(mistakes).toBe('')
  return target!.identity
}

const pod = 'arn:aws:iam::123456789012:role/pod'
const models = 'arn:aws:iam::123456789012:role/models'
const webIdentity = { AWS_WEB_IDENTITY_TOKEN_FILE: '/run/token', AWS_ROLE_ARN: pod }
const keys = { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: 'canary-1' }
const at = { cloud: 'aws' as const, region: 'eu-west-1' }

test('the host: a profile, a web identity, the agent of a container, the machine', () => {
  expect([
    identity(', aws_profile_name: prod'),
    identity('', { AWS_PROFILE: 'dev', ...webIdentity }),
    identity(', aws_session_name: mine', webIdentity),
    identity('', { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/a' }),
    identity('', {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/run/eks/token',
    }),
    identity('', {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/c',
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 't',
    }),
    identity(''),
  ]).toEqual([
    { ...at, source: { kind: 'profile', name: 'prod' } },
    { ...at, source: { kind: 'profile', name: 'dev' } },
    { ...at, source: { kind: 'web-identity', tokenFile: '/run/token', role: { arn: pod, sessionName: 'mine' } } },
    { ...at, source: { kind: 'container', url: { relative: '/v2/credentials/a' } } },
    {
      ...at,
      source: {
        kind: 'container',
        url: { full: 'http://169.254.170.23/v1/credentials' },
        tokenFile: '/run/eks/token',
      },
    },
    { ...at, source: { kind: 'container', url: { full: 'http://127.0.0.1:1/c' }, token: new Secret('t') } },
    { ...at, source: { kind: 'machine' } },
  ])
})

test('a role that keys or the host take on; the own role of the host is not taken on twice', () => {
  const role = { arn: models, sessionName: 'modelgate', externalId: 'e' }
  const named = `, aws_role_name: "${models}", aws_external_id: e`
  expect(identity(named, keys)).toEqual({
    ...at,
    source: { kind: 'keys', accessKeyId: 'AKIA1', secretAccessKey: new Secret('canary-1') },
    role,
  })
  expect(identity(named)).toEqual({ ...at, source: { kind: 'machine' }, role })
  expect(identity(`${named}, aws_profile_name: prod`, keys)).toEqual({
    ...at,
    source: { kind: 'profile', name: 'prod' },
    role,
  })
  expect(identity(named, webIdentity)).toMatchObject({ source: { kind: 'web-identity', role: { arn: pod } }, role })
  expect(identity(`, aws_role_name: "${pod}"`, webIdentity)).toMatchObject({ role: undefined })
  const token = `, aws_role_name: "${models}", aws_web_identity_token: oidc/file//run/own`
  expect(identity(token, keys)).toMatchObject({
    source: { kind: 'web-identity', tokenFile: '/run/own', role: { arn: models } },
    role: undefined,
  })
})

test('the address of STS, by the entry or the environment', () => {
  const address = { AWS_ENDPOINT_URL_STS: 'https://sts.of-host.example' }
  expect([identity('', address), identity(', aws_sts_endpoint: "https://sts.example"', address)]).toMatchObject([
    { stsUrl: 'https://sts.of-host.example' },
    { stsUrl: 'https://sts.example' },
  ])
})

test('keys come before the role of the machine, an API key before both', () => {
  expect([
    identity('', { ...webIdentity, ...keys }),
    identity('', { ...webIdentity, AWS_BEARER_TOKEN_BEDROCK: 'b' }),
  ]).toEqual([undefined, undefined])
})

test.each([
  ['', { AWS_EC2_METADATA_DISABLED: 'true' }, 'no credentials: give `api_key`'],
  [', aws_role_name: models', keys, 'aws_role_name: must be the ARN of a role'],
  [`, api_key: k, aws_role_name: "${models}"`, keys, 'give either `api_key` or `aws_role_name`'],
  [', api_key: k, aws_profile_name: p', keys, 'give either `api_key` or `aws_profile_name`'],
  [
    ', aws_access_key_id: a, aws_secret_access_key: b, aws_profile_name: p',
    {},
    'give either `aws_access_key_id` or `aws_profile_name`',
  ],
  [', aws_web_identity_token: /run/token', {}, 'needs the role that it takes on: give `aws_role_name`'],
  [', aws_web_identity_token: eyJhbGciOi', {}, 'must be the absolute path of a file with a token'],
  [
    '',
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://evil.example/c' },
    'must be an https address, or that of an agent',
  ],
] as [string, Record<string, string>, string][])('%s is a mistake', (params, environment, words) => {
  expect(read(params, { AWS_REGION: 'eu-west-1', ...environment }).mistakes).toContain(words)
})

test('secrets of an identity are not shown', () => {
  const found = identity('', {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/c',
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'canary-2',
  })
  expect(JSON.stringify(found)).not.toContain('canary')
})
