import { Navigate, type RouteObject, createBrowserRouter } from 'react-router';
import { BrokenPage, NotFound } from './ErrorPages';
import { FEATURES } from './feature';
import { Shell } from './Shell';

export const ROUTES: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <BrokenPage />,
    children: [
      {
        errorElement: <BrokenPage />,
        hydrateFallbackElement: <></>,
        children: [
          { index: true, element: <Navigate to="/slides" replace /> },
          ...FEATURES.flatMap(({ routes }) => routes),
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
  },
];

export const makeRouter = () => createBrowserRouter(ROUTES);
