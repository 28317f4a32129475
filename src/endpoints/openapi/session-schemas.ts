/** Answers about sessions, passwords, and how persons sign in. */
import {
  boolean,
  constant,
  dateTime,
  described,
  integer,
  listOf,
  nullable,
  oneOf,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Schema } from './schema.ts'
import { gatewayActions } from '../../core/tenancy/actions.ts'

const method = described('`sso`, `password`, `master-key`, `device` or `key`.', text)
const membership = shape({ id: text, role: text })

/** By their names under `#/components/schemas/`. */
export const sessionSchemas: Readonly<Record<string, Schema>> = {
  SignedIn: shape({
    redirect_url: text,
    user_id: described('null = the operator.', nullable(text)),
    session_id: text,
    expires_at: dateTime,
  }),
  SignedOut: shape({ signed_out: constant(true) }),
  SignInMethods: shape({
    password: boolean,
    login_url: text,
    fallback_url: text,
    forgotten_password_url: described('null = this gateway sends no mail.', nullable(text)),
    providers: listOf(shape({ name: text, display_name: text, url: text })),
  }),
  Session: shape({
    id: text,
    user_id: nullable(text),
    method,
    current: described('It is the session that asks.', boolean),
    created_at: dateTime,
    last_used_at: dateTime,
    idle_end: dateTime,
    expires_at: dateTime,
    user_agent: text,
    client_address: text,
  }),
  SignInSession: shape({
    user_id: nullable(text),
    email: nullable(text),
    alias: nullable(text),
    role: text,
    may: described('What the caller may do in the gateway as a whole.', listOf(oneOf(...gatewayActions))),
    teams: listOf(membership),
    organizations: listOf(membership),
    method,
    session: nullable(reference('Session')),
  }),
  SessionList: shape({ sessions: listOf(reference('Session')), total: integer, next_cursor: nullable(text) }),
  PasswordSet: shape({ user_id: text, changed: constant(true) }),
  Invitation: shape({
    id: text,
    user_id: text,
    url: described('Shown once.', text),
    created_at: dateTime,
    created_by: text,
    expires_at: dateTime,
    is_accepted: constant(false),
    email_sent: boolean,
    email_problem: described('Why no mail was sent though it was asked for.', nullable(text)),
  }),
  PasswordLinkAsked: shape({ message: text }),
  OnboardingToken: shape({ login_url: text, token: text, user_id: text, user_email: nullable(text) }),
  WithdrawnInvitation: shape({ withdrawn: constant(true) }),
  RevokedSessions: shape({ revoked: integer }),
}
