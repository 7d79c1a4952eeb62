"""Addresses of people: set-up, log-in and log-out, what the browser reports, pages under /settings/."""

from django.urls import include, path
from django.views.generic import RedirectView

from people import views

# What the page's script tells about the person's browser, and what its menu sets.
people_patterns = [
    path("zone/", views.zone, name="zone"),
    path("theme/", views.theme, name="theme"),
]

# Joined with the other rooms' pages in the namespace `settings`.
settings_patterns = [
    path("", RedirectView.as_view(pattern_name="settings:profile"), name="home"),
    path("profile/", views.profile, name="profile"),
    path("password/", views.password, name="password"),
    path("devices/", views.sign_out_others, name="sign_out_others"),
    path("people/", views.accounts, name="people"),
    path("people/invite/", views.invite, name="invite"),
    path("people/invitations/<int:invitation_id>/withdraw/", views.withdraw, name="withdraw"),
    path("people/<int:person_id>/<slug:action>/", views.act, name="person"),
]

urlpatterns = [
    path("setup/", views.setup, name="setup"),
    path("login/", views.LoginView.as_view(), name="login"),
    path("join/<str:token>/", views.join, name="join"),
    path("logout/", views.LogoutView.as_view(), name="logout"),
    path("people/", include((people_patterns, "people"))),
]
