/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { managedSettings } from '../agents/managed-settings.ts'
import { telemetryEndpoints } from '../agents/telemetry.ts'
import { deviceAuthorization, discovery, revocation, token } from '../sign-in/device-flow.ts'
import { deviceDecision, devicePage } from '../sign-in/device-page.ts'
import { forgottenPasswordEndpoints } from '../sign-in/forgotten-password.ts'
import { loginEndpoints } from '../sign-in/login.ts'
import { onboardingEndpoints } from '../sign-in/onboarding.ts'
import { passwordEndpoints } from '../sign-in/passwords.ts'
import { sessionEndpoints } from '../sign-in/sessions.ts'
import { singleSignOnEndpoints } from '../sign-in/single-sign-on.ts'

/** How persons and their programs sign in, and what coding agents ask a gateway for beside calls. */
export const endpoints: readonly Endpoint[] = [
  discovery(),
  deviceAuthorization,
  token,
  revocation,
  devicePage,
  deviceDecision,
  managedSettings,
  ...telemetryEndpoints,
  ...loginEndpoints,
  ...sessionEndpoints,
  ...passwordEndpoints,
  ...forgottenPasswordEndpoints,
  ...onboardingEndpoints,
  ...singleSignOnEndpoints,
]
