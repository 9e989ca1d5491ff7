import { expect, it } from 'vitest';
import { loadConfig, readConfig } from './config';

const FOUND = {
  apiUrl: '/api/v1/wsi',
  region: 'eu-central-1',
  userPoolId: 'pool',
  clientId: 'client',
  signInUrl: 'https://sign-in.example',
  realtimeUrl: 'wss://push.example',
};

it('takes what a deployment writes, where people sign in on the hosted page', () => {
  expect(readConfig(FOUND)).toEqual({ ...FOUND, signIn: 'hosted' });
  expect(readConfig({ ...FOUND, signIn: 'password' }).signIn).toBe('password');
});

it('names what an installation lacks', () => {
  expect(() => readConfig({ ...FOUND, clientId: 5, region: undefined })).toThrow('lacks region, clientId.');
  expect(() => readConfig(null)).toThrow('lacks apiUrl');
});

it('says that there is none', async () => {
  await expect(loadConfig(() => Promise.resolve(new Response(null, { status: 404 })))).rejects.toThrow('status 404');
});
