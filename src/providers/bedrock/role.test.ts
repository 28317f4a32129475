/** Credentials of AWS roles: what is asked of AWS, what is read, and which role a configuration means. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../../config/read-settings.ts'
import { signAwsCall } from '../../lib/aws/aws-signature.ts'
import { Secret } from '../../lib/secret.ts'
import { providers } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'aws-role-'))
afterAll(() => rmSync(folder, { recursive: true }))
const tokenFile = join(folder, 'token')
writeFileSync(tokenFile, 'identity-of-the-pod\n')

const epochMs = Date.UTC(2026, 10, 26, 12)
const { authorization } = providers.get('bedrock')!

function read(params: string, environment: Record<string, string>) {
  const text = `model_list:\n  - model_name: m\n    litellm_params: { model: bedrock/amazon.nova-pro-v1:0${params} }\n`
  const { settings, mistakes } = readSettings({ text, file: 'c.yaml', environment, providers })
  return { target: settings?.deployments[0]?.target, mistakes: mistakes.join() }
}

function asked(params: string, environment: Record<string, string>) {
  const { target, mistakes } = read(params, { AWS_REGION: 'eu-west-1', ...environment })
  expect(mistakes).toBe('')
  return authorization!.tokenRequest!(target!, epochMs)!
}

const webIdentity = { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/pod' }
const keys = { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: 'canary-1' }

describe('what is asked', () => {
  test('the agent of an ECS task, and of an EKS pod with the token of its file', () => {
    expect(asked('', { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/a' })).toEqual({
      method: 'GET',
      head: { url: 'http://169.254.170.2/v2/credentials/a', headers: { accept: 'application/json' } },
      body: '',
    })
    const pod = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    }
    expect(asked('', pod).head).toEqual({
      url: 'http://169.254.170.23/v1/credentials',
      headers: { accept: 'application/json', authorization: 'identity-of-the-pod' },
    })
  })

  test('STS for the identity of a Kubernetes service account', () => {
    const { method, head, body } = asked(', aws_session_name: mine', webIdentity)
    expect([method, head.url, head.headers.accept]).toEqual([
      'POST',
      'https://sts.eu-west-1.amazonaws.com/',
      'application/json',
    ])
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: webIdentity.AWS_ROLE_ARN,
      RoleSessionName: 'mine',
      WebIdentityToken: 'identity-of-the-pod',
    })
  })

  test('STS for a role that the keys take on, signed by them', () => {
    const role = ', aws_role_name: "arn:aws:iam::123456789012:role/models", aws_external_id: e'
    const { head, body } = asked(role, keys)
    expect(Object.fromEntries(new URLSearchParams(body))).toMatchObject({
      Action: 'AssumeRole',
      RoleArn: 'arn:aws:iam::123456789012:role/models',
      RoleSessionName: 'modelgate',
      ExternalId: 'e',
    })
    const { authorization: proof, 'x-amz-date': _, ...headers } = head.headers
    expect(proof).toBe(
      signAwsCall(
        { method: 'POST', url: head.url, headers, body: [Buffer.from(body)] },
        { accessKeyId: 'AKIA1', secretAccessKey: 'canary-1' },
        { region: 'eu-west-1', service: 'sts' },
        epochMs,
      ).authorization,
    )
  })

  test('keys come before the role of the machine, an API key before both', () => {
    const target = (environment: Record<string, string>) => {
      const found = read('', { AWS_REGION: 'eu-west-1', ...webIdentity, ...environment }).target!
      return authorization!.tokenRequest!(found, epochMs)
    }
    expect([target(keys), target({ AWS_BEARER_TOKEN_BEDROCK: 'b' })]).toEqual([undefined, undefined])
    expect(target({})).toBeDefined()
  })
})

test('credentials of the agent and of STS sign the call, as long as they live', () => {
  const given = { AccessKeyId: 'ASIA1', SecretAccessKey: 's' }
  const ofAgent = authorization!.readToken!({ ...given, Token: 't', Expiration: '2026-11-26T12:30:00Z' }, epochMs)
  const credentials = { ...given, SessionToken: 't', Expiration: epochMs / 1000 + 1800 }
  const ofSts = authorization!.readToken!(
    { AssumeRoleResponse: { AssumeRoleResult: { Credentials: credentials }, ResponseMetadata: {} } },
    epochMs,
  )
  expect([ofAgent.lifetimeS, ofSts]).toEqual([1800, ofAgent])
  const { target } = read('', { AWS_REGION: 'eu-west-1', ...webIdentity })
  const call = { method: 'POST' as const, url: 'https://h/model/m/converse', headers: {}, body: [] }
  expect(authorization!.headers(call, target!, { epochMs, token: ofSts.token })).toEqual(
    signAwsCall(
      call,
      { accessKeyId: 'ASIA1', secretAccessKey: 's', sessionToken: 't' },
      { region: 'eu-west-1', service: 'bedrock' },
      epochMs,
    ),
  )
  for (const body of [null, {}, { Message: 'no' }, { ...given, Token: 't' }, { ...given, Expiration: 1 }])
    expect(() => authorization!.readToken!(body, epochMs)).toThrow('without credentials of the role')
})

test('a missing file of a token is reported without its content', () => {
  const request = () => asked('', { ...webIdentity, AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'none') })
  expect(request).toThrow('the file with the token for the AWS role cannot be read')
})

test.each([
  ['', { AWS_REGION: 'eu-west-1' }, 'or run with the role of an ECS task or an EKS pod'],
  [', aws_role_name: models', keys, 'aws_role_name: must be the ARN of a role'],
  [', api_key: k, aws_role_name: "arn:aws:iam::123456789012:role/a"', keys, 'give either `api_key` or `aws_role_name`'],
  [
    ', aws_role_name: "arn:aws:iam::123456789012:role/other"',
    webIdentity,
    'is not the role that this program runs with',
  ],
  [
    '',
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://evil.example/c' },
    'must be an https address, or that of an agent',
  ],
])('%s is a mistake', (params, environment, words) => {
  expect(read(params, { AWS_REGION: 'eu-west-1', ...environment }).mistakes).toContain(words)
})

test('secrets of a role are not shown', () => {
  const { target } = read('', {
    AWS_REGION: 'eu-west-1',
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/c',
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'canary-2',
  })
  expect(target!.options.aws_role).toMatchObject({ kind: 'container', token: new Secret('canary-2') })
  expect(JSON.stringify(target!.options)).not.toContain('canary')
})
