/** Keys of `proxy_params` about the gateway's own identity at Azure and AWS. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import { httpAddress, text } from './value-types.ts'

const filePath = () => z.string().regex(/^\//, 'must be an absolute path')

/** The ways to prove an identity to Entra ID, by the names of Microsoft's libraries. */
export const azureCredentials = [
  'ClientSecretCredential',
  'CertificateCredential',
  'WorkloadIdentityCredential',
  'ManagedIdentityCredential',
] as const

/** The keys about Azure, beside `tenant_id`, `client_id` and `client_secret`. */
export const azureIdentityKeys = settingKeys('providers', {
  azure_credential: {
    type: () => z.enum(azureCredentials),
    description:
      'Azure: how the gateway proves its identity to Entra ID. ManagedIdentityCredential is the identity of the ' +
      'machine, or the one that `client_id` names. Left out: AZURE_CREDENTIAL, else it follows from what is given.',
    example: 'ManagedIdentityCredential',
  },
  azure_certificate_path: {
    type: filePath,
    description: 'Azure: the file that holds a certificate and its key in PEM form, in place of `client_secret`.',
    example: '/etc/modelgate/entra.pem',
  },
  azure_certificate_password: {
    type: text,
    description: "Azure: the password that the certificate's private key is encrypted with.",
    example: 'os.environ/AZURE_CERTIFICATE_PASSWORD',
    secret: 'whole',
  },
  azure_federated_token_file: {
    type: filePath,
    description:
      'Azure: the file that holds the token of a Kubernetes service account. Left out: AZURE_FEDERATED_TOKEN_FILE.',
    example: '/var/run/secrets/azure/tokens/azure-identity-token',
  },
  azure_scope: {
    type: text,
    description:
      'Azure: what a token of Entra ID is asked for. Left out: AZURE_SCOPE, else the Cognitive Services of the cloud.',
    example: 'https://ai.azure.com/.default',
  },
})

/** The keys about AWS, beside keys and `aws_role_name`. */
export const awsIdentityKeys = settingKeys('providers', {
  aws_profile_name: {
    type: () => z.string().regex(/^[^\s\]]{1,128}$/, 'must be the name of a profile'),
    description: "Bedrock: the profile of AWS's files (keys, roles, SSO) that signs calls. Left out: AWS_PROFILE.",
    example: 'production',
  },
  aws_web_identity_token: {
    type: () =>
      z
        .string()
        .regex(/^(?:oidc\/file\/)?\//, 'must be the absolute path of a file with a token, as `/run/tokens/aws`'),
    description: 'Bedrock: the file that holds a web identity token, which takes on `aws_role_name`.',
    example: '/var/run/secrets/tokens/aws',
  },
  aws_sts_endpoint: {
    type: httpAddress,
    description: 'Bedrock: the address of STS that is asked for roles in place of that of the region.',
    example: 'https://vpce-1.sts.us-east-1.vpce.amazonaws.com',
  },
})
