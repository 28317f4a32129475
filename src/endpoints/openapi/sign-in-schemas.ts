/** Answers of the sign-in of programs, and the settings of coding agents. */
import { anyObject, constant, described, integer, listOf, nullable, shape, text } from './schema.ts'
import type { Schema } from './schema.ts'

const seconds = described('Seconds.', integer)

/** By their names. */
export const signInSchemas: Readonly<Record<string, Schema>> = {
  SignInMetadata: shape({
    issuer: text,
    device_authorization_endpoint: text,
    token_endpoint: text,
    revocation_endpoint: text,
    grant_types_supported: listOf(text),
    response_types_supported: listOf(text),
    token_endpoint_auth_methods_supported: listOf(text),
    revocation_endpoint_auth_methods_supported: listOf(text),
    gateway_protocol_version: integer,
  }),
  DeviceAuthorization: shape({
    device_code: text,
    user_code: described('As a person types it: `WDJB-MJHT`.', text),
    verification_uri: text,
    verification_uri_complete: text,
    expires_in: seconds,
    interval: described('Seconds between two questions for the token.', integer),
  }),
  AccessToken: shape(
    {
      access_token: text,
      token_type: constant('Bearer'),
      expires_in: seconds,
      refresh_token: described('Valid once.', text),
      user_id: text,
      team_id: nullable(text),
    },
    { email: text },
  ),
  Revoked: shape({}),
  TelemetryTaken: shape({}, { partialSuccess: shape({ errorMessage: text }) }),
  ManagedSettings: shape({ uuid: text, checksum: text, settings: anyObject }),
}
