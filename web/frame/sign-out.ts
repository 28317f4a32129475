import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { signOut } from '../api/session.ts'
import { setDevelopmentKey } from '../api/development-key.ts'
import { reportError } from '../components/report-error.ts'

/** Ends this session, and forgets all that was read with it. */
export function useSignOut() {
  const client = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: signOut,
    onSuccess: async () => {
      setDevelopmentKey('')
      await navigate({ to: '/login' as string })
      client.clear()
    },
    onError: reportError,
  })
}
